"""The generated parts of the documentation match the code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_match_the_code(
    generate: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate.main(check=True) == 0, capsys.readouterr().err


def test_an_outdated_page_is_named(
    generate: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "CONTRIBUTING.md", "docs/settings.md", "pyproject.toml"):
        (tmp_path / page).write_text((ROOT / page).read_text())
    stale = (ROOT / "docs" / "settings.md").read_text().replace("`ocr_pages`", "`ocr_page`")
    (tmp_path / "docs" / "settings.md").write_text(stale)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.main(check=True) == 1
    assert "not what the code says: docs/settings.md; run" in capsys.readouterr().err
    assert generate.main(check=False) == 0
    assert generate.main(check=True) == 0


def test_every_setting_has_a_description(generate: ModuleType) -> None:
    rows = [line for line in generate.write_settings().splitlines() if line.startswith("| `")]
    assert 0 < len(rows) <= 100
    assert not [row for row in rows if row.endswith("|  |")]


def test_every_room_of_the_import_contract_is_drawn(generate: ModuleType) -> None:
    lines = generate.draw_rooms().splitlines()[1:-1]
    rooms = {room for line in lines for room in line.split("  ")[0].split(" | ")}
    folders = {file.parent.name for file in (ROOT / "src" / "fathom").glob("*/__init__.py")}
    # Beside the rooms stand the package itself and its entry point.
    modules = {file.stem for file in (ROOT / "src" / "fathom").glob("[!_]*.py")}
    assert rooms == folders | modules
