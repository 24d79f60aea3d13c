"""The code that a system runs through, and the digest of it."""

import ast
import sys
from pathlib import Path
from threading import Thread

import pytest
from experiments.lab import code
from experiments.lab.code import Code, close_over_imports, compute_digest, dump_node, follow_calls

from fathom.text.entities import find_names


def write_package(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        file = folder / "fathom" / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(code, "PACKAGE", tmp_path / "fathom")
    write_package(
        tmp_path,
        rules="from fathom.words import split\nimport json\ndef decide(x):\n    return x > 1\n",
        words='"""Words."""\nfrom fathom import lists\ndef split(text):\n    return text.split()\n',
        lists="def late():\n    from fathom.other import thing\n    return thing\n",
        other="thing = 1\n",
        serving__page="import fathom.rules\n",
    )
    return tmp_path


def test_calls_are_followed_in_all_threads() -> None:
    with follow_calls() as called:
        thread = Thread(target=lambda: find_names("Ada Cole"))
        thread.start()
        thread.join()
    assert "text/entities.py" in called
    before = set(called)
    Thread(target=lambda: find_names("Ada Cole")).start()
    assert called == before


def test_modules_that_are_imported_at_once_belong_to_the_code(package: Path) -> None:
    assert close_over_imports(["rules.py"]) == ("lists.py", "rules.py", "words.py")
    assert close_over_imports(["serving/page.py"]) == ()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Other words."""\nfrom fathom import lists\n\n# Why.\n'
         "def split(text):\n    return (\n        text.split()\n    )\n", True),
        ("from fathom import lists\ndef split(text):\n    return text.split(' ')\n", False),
        ("from fathom import lists\ndef cut(text):\n    return text.split()\n", False),
    ],
)  # fmt: skip
def test_only_what_can_change_an_answer_changes_the_digest(
    package: Path, text: str, same: bool
) -> None:
    before = Code.of(["rules.py"])
    write_package(package, words=text)
    assert before.is_current is same
    assert (compute_digest(before.modules) == before.digest) is same


def test_word_lists_and_cards_beside_the_modules_count_too(package: Path) -> None:
    cards = package / "fathom" / "resources" / "small"
    cards.mkdir(parents=True)
    (cards / "card.json").write_text("{}")
    before = Code.of(["rules.py"])
    assert before.modules == ("lists.py", "resources/small/card.json", "rules.py", "words.py")
    (cards / "card.json").write_text('{"sha256": "1"}')
    assert not before.is_current


def test_a_module_that_is_gone_changes_the_digest(package: Path) -> None:
    before = Code.of(["rules.py"])
    (package / "fathom" / "lists.py").unlink()
    assert not before.is_current


def test_code_has_the_same_dump_on_each_version_of_python() -> None:
    tree = ast.parse("def f(x=None, *, y): return {None: []}, f'{x!r:>9}', 1.5, b'a'")
    assert dump_node(tree) == (
        "Module(body=[FunctionDef(name='f', args=arguments(posonlyargs=[], args=[arg(arg='x')], "
        "kwonlyargs=[arg(arg='y')], kw_defaults=[None], defaults=[Constant(value=None)]), "
        "body=[Return(value=Tuple(elts=[Dict(keys=[Constant(value=None)], values=[List(elts=[], "
        "ctx=Load())]), JoinedStr(values=[FormattedValue(value=Name(id='x', ctx=Load()), "
        "conversion=114, format_spec=JoinedStr(values=[Constant(value='>9')]))]), "
        "Constant(value=1.5), Constant(value=b'a')], ctx=Load()))], decorator_list=[])], "
        "type_ignores=[])"
    )


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions of Python dump otherwise")
def test_the_dump_is_that_of_the_version_that_made_the_digests() -> None:
    for file in sorted(code.PACKAGE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        assert dump_node(tree) == ast.dump(tree), file
