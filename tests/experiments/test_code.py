"""The code that a system runs through, and the digest of it."""

import ast
import itertools
import sys
from pathlib import Path
from threading import Thread

import pytest
from experiments.lab import code
from experiments.lab.code import (
    Change,
    Code,
    close_over_imports,
    compute_digest,
    dump_node,
    follow_calls,
    hash_module,
    list_digests,
    read_changes,
)

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


def make_change(module: str, before: str, after: str) -> Change:
    return Change(module=module, before=before, after=after, reason="locks", evidence="rows")


def test_listed_changes_leave_code_current_and_no_others(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Code.of(["rules.py"])
    states = [hash_module("words.py")]
    for number in (1, 2):
        write_package(package, words=f"from fathom import lists\nLOCKS = {number}\n")
        states.append(hash_module("words.py"))
    pairs = list(itertools.pairwise(states))
    changes = tuple(make_change("words.py", before, after) for before, after in pairs)
    assert made.digest not in list_digests(made.modules)
    assert made.digest in list_digests(made.modules, changes)
    assert made.digest not in list_digests(made.modules, changes[:1])
    assert made.digest not in list_digests(made.modules, [make_change("rules.py", *pairs[1])])
    monkeypatch.setattr(code, "read_changes", lambda: changes)
    assert made.is_current
    assert compute_digest(made.modules) != made.digest
    write_package(package, rules="def decide(x):\n    return x > 2\n")
    assert made.digest not in list_digests(made.modules, changes)


def test_a_module_that_is_imported_since_then_has_to_be_listed(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Code.of(["rules.py"])
    before = hash_module("words.py")
    (package / "fathom" / "marks.py").write_text("MARKS = '?!'\n")
    write_package(package, words="from fathom import lists, marks\nLOCKS = 1\n")
    change = make_change("words.py", before, hash_module("words.py"))
    monkeypatch.setattr(code, "read_changes", lambda: (change,))
    assert made.digest in list_digests(made.modules)
    assert [made.is_current] == [False]
    added = make_change("marks.py", "", hash_module("marks.py"))
    monkeypatch.setattr(code, "read_changes", lambda: (change, added))
    assert [made.is_current] == [True]
    assert Code.of(["rules.py"]).is_current


def test_each_listed_change_leads_to_the_code_of_today() -> None:
    changes = read_changes()
    for number, change in enumerate(changes):
        followers = {later.before for later in changes[number:] if later.module == change.module}
        assert change.after in {hash_module(change.module), *followers}, change.module
        assert change.reason, change.module
        assert change.evidence, change.module


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
