"""The examples of the documentation run as they stand there, one after another."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> Iterator[tuple[int, str]]:
    """The Python of a page, each with the line where it begins."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield text.count("\n", 0, block.start(1)) + 1, block[1]


@pytest.mark.parametrize("name", ["docs/python.md", "docs/langchain.md"])
def test_the_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "example"}
    found = list(examples(ROOT / name))
    assert found
    for line, code in found:
        exec(compile("\n" * (line - 1) + code, name, "exec"), known)
    assert capsys.readouterr().out
