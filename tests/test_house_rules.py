"""The rules of the house that no linter checks: names, docstrings, comments, room borders."""

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fathom"
SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = ("benchmarks", "docs", "experiments", "tests", "training")
"""Folders outside of the package whose functions, docstrings and locals keep its rules."""
ALL_FILES = [*SOURCES, *(file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))]


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


IRREGULAR_PARTICIPLES = split_words(
    "told said held kept shown begun known found made given taken seen sent left lost met built "
    "bound brought caught chosen done drawn felt gone grown heard hidden laid led lent meant paid "
    "sold spent spoken stood thought understood won written"
)
ADVERBS = split_words(
    "beside nearly apart enough most least once anew again before behind among whether where when "
    "how why who what beyond alike alone otherwise instead"
)
VERBS_ENDING_LIKE_PARTICIPLES = split_words(
    "is has can may must should need needs was were are to from as of embed feed seed speed exceed "
    "proceed succeed shed"
)
CATCH_ALL_LOCALS = split_words("each found said told here known own")
CATCH_ALL_NAMES = CATCH_ALL_LOCALS | split_words("kept one shown")
"""Names that no script of the page uses; in a script a bare name is a name that it declares."""
RIDDLES = re.compile(
    r"(What|Who|Whether|Where|When|How|Why|Whose|That|Those|Of|Likewise|The same|See)\b"
)
EXCLUDED_WORDS = split_words(
    "passage pipeline manager helper helpers utils service mind leg cage cast"
)
"""Words of DESIGN section 1 that name nothing in this package."""
QUESTION_PARSERS = split_words(
    "detect_form parse_count asks_steps asks_items extract_counted_noun "
    "detect_answer_type detect_expected_value find_anchors extract_term parse_statement "
    "parse_comparison list_options split_questions build_chain"
)
"""The functions of the room `question` that `Question` calls for everybody else."""
RULED_NODES = {
    ast.Module,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Name,
    ast.arg,
    ast.Import,
    ast.ImportFrom,
}
SHARE_OF_COMMENTS = 0.015
SCRIPTS = sorted((PACKAGE / "serving" / "http" / "page").glob("*.js"))
SCRIPT_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*[\s\S]*?\*/|^ *//.*$|/\^.*?\$/', re.MULTILINE)
"""A string, a comment or an anchored pattern: the words in them name nothing."""
SCRIPT_FUNCTION = re.compile(
    r"\bfunction (\w+)"
    r"|\b(?:const|let) (\w+) = (?:async )?(?:\([^()]*\)|\w+) =>"
    r"|^  (?:static |async )*(\w+)\(.*\) \{$",
    re.MULTILINE,
)
"""A function, an arrow function with a name, or a method of a class."""


def list_decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names of a function's decorators, called or not."""
    decorators = [
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for decorator in node.decorator_list
    ]
    return {getattr(decorator, "id", getattr(decorator, "attr", "")) for decorator in decorators}


@cache
def list_nodes(file: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file that the rules are about; each file is parsed and walked once."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if type(node) in RULED_NODES)


def iterate_functions(
    files: Iterable[Path] = SOURCES,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield each function with its place, properties and fixtures left out, which are nouns."""
    for file in files:
        for node in list_nodes(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not (
                list_decorators(node) & {"property", "cached_property", "fixture"}
            ):
                yield f"{file.relative_to(ROOT)}:{node.lineno} {node.name}", node


def iterate_locals(file: Path) -> Iterator[tuple[ast.Name | ast.arg, str]]:
    """Yield each parameter, and each name that is given a value, with the node that names it."""
    for node in list_nodes(file):
        if isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id


def iterate_docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the first lines of docstrings, those of attributes too, with their line numbers."""
    for node in list_nodes(file):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                ):
                    yield statement.lineno, statement.value.value.partition("\n")[0]


def split_name(name: str) -> list[str]:
    """Return the words of a name in snake or camel case, in small letters."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def is_participle_or_adverb(word: str) -> bool:
    """Return whether a word is a participle or an adverb, where a verb should stand."""
    if word in VERBS_ENDING_LIKE_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES | ADVERBS or (word.endswith("ed") and len(word) > 4)


def test_functions_are_named_by_verbs() -> None:
    guilty = [
        place
        for place, node in iterate_functions(ALL_FILES)
        if (words := split_name(node.name)) and is_participle_or_adverb(words[0])
    ]
    assert guilty == []


def test_names_of_tests_are_statements() -> None:
    guilty = [
        place
        for place, node in iterate_functions(ALL_FILES)
        if re.match(r"test_(who|what|whether|how|of|where|that|when|whose)_", node.name)
    ]
    assert guilty == []


def test_docstrings_are_plain_sentences() -> None:
    guilty = [
        f"{file.relative_to(ROOT)}:{line} {text}"
        for file in ALL_FILES
        for line, text in iterate_docstrings(file)
        if RIDDLES.match(text)
    ]
    assert guilty == []


def test_locals_are_named_after_what_they_hold() -> None:
    guilty = [
        f"{file.relative_to(ROOT)}:{node.lineno} {name}"
        for file in ALL_FILES
        for node, name in iterate_locals(file)
        if name in CATCH_ALL_LOCALS
    ]
    # Stored records keep their keys: what a person said of an answer, and how many quotes of a
    # role's call were found.
    stored = {"feedback.py said", "reply_schemas.py said", "role_calls.py found"}
    assert [place for place in guilty if re.sub(r"^.*/|:\d+", "", place) not in stored] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_names_in_a_script_of_the_page_are_verbs_and_what_they_hold(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    code = SCRIPT_TEXT.sub('""', text)
    functions = ["".join(names) for names in SCRIPT_FUNCTION.findall(code)]
    names = [name for name in functions if is_participle_or_adverb(split_name(name)[0])]
    names += set(re.findall(r"(?<![.$\w])\w+(?![\w:])", code)) & CATCH_ALL_NAMES
    assert names == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_comments_in_a_script_of_the_page_are_plain_sentences(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    openers = re.findall(r"(?:/\*\*[\s*]*|\A// )(\S.*)", text)
    assert [opener for opener in openers if RIDDLES.match(opener)] == []


def test_a_public_class_name_has_one_meaning() -> None:
    homes = defaultdict(list)
    for file in SOURCES:
        for node in list_nodes(file):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_name_uses_a_word_that_the_design_excludes() -> None:
    names = [str(file.relative_to(PACKAGE).with_suffix("")) for file in SOURCES]
    names += [place for place, _ in iterate_functions()]
    names += [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in SOURCES
        for node in list_nodes(file)
        if isinstance(node, ast.ClassDef)
    ]
    guilty = [name for name in names if EXCLUDED_WORDS & set(split_name(name.rpartition(" ")[2]))]
    assert guilty == []


def test_a_question_is_parsed_by_question_alone() -> None:
    parsers = {
        (file.relative_to(PACKAGE).parts[0], alias.name)
        for file in SOURCES
        for node in list_nodes(file)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in QUESTION_PARSERS
    }
    assert parsers == {("question", name) for name in QUESTION_PARSERS}


def test_comments_give_reasons_often_enough() -> None:
    lines = comments = 0
    for file in SOURCES:
        with file.open("rb") as stream:
            comments += sum(
                token.type == tokenize.COMMENT and not token.string.startswith("# noqa")
                for token in tokenize.tokenize(stream.readline)
            )
        lines += len(file.read_text(encoding="utf-8").splitlines())
    assert comments / lines >= SHARE_OF_COMMENTS


def test_contributing_stays_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_readme_fits_on_a_few_screens() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("banned", ["torch", "transformers", "sentence_transformers"])
def test_no_code_imports_what_training_alone_may(banned: str) -> None:
    guilty = [
        file
        for file in SOURCES
        for node in list_nodes(file)
        if (isinstance(node, ast.Import) and banned in [alias.name for alias in node.names])
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == banned)
    ]
    assert guilty == []


def test_training_and_experiments_do_not_import_each_other() -> None:
    for room, other in (("training", "experiments"), ("experiments", "training")):
        for file in sorted((ROOT / room).rglob("*.py")):
            lines = file.read_text(encoding="utf-8").splitlines()
            guilty = [
                line for line in lines if line.startswith((f"from {other}", f"import {other}"))
            ]
            assert guilty == [], file


def test_experiments_import_no_command_line() -> None:
    for file in sorted((ROOT / "experiments").rglob("*.py")):
        assert "from fathom.serving" not in file.read_text(encoding="utf-8"), file
