"""Wrong input: one line, the right exit code, never "a bug"; with --json one object."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401 - fixture

from fathom.engine import Engine
from fathom.settings import IndexSettings, Settings

LONG = "x" * 300
NOT_UTF8 = os.fsdecode(b"caf\xe9")
Q = "How much does a mooring permit cost?"

CALLS: tuple[tuple[Sequence[str], str], ...] = (
    (("nonsense",), "No such command 'nonsense'"),
    (("docs", "rm"), "see `fathom docs rm --help`"),
    (("ask",), "Missing argument"),
    (("ask", "a", "b"), "unexpected extra argument"),
    (("ask", Q, "--bogus"), "No such option"),
    (("ask", ""), "the question is empty"),
    (("ask", NOT_UTF8), "not UTF-8"),
    (("ask", "x" * 200_000), "200000 characters"),
    (("replay",), "Missing argument"),
    (("replay", "zzz"), "no trace begins with 'zzz'"),
    (("trace", NOT_UTF8), "no trace begins with"),
    (("trace", "--delete"), "name the trace"),
    (("trace", "--otel", "file"), "name the trace"),
    (("trace", "a", "--otel", "file", "--delete"), "export the trace first"),
    (("trace", "a", "--content"), "add --otel TARGET"),
    (("docs", "show", "nothing"), "no document 'nothing'"),
    (("docs", "show", NOT_UTF8), "no document 'caf\\\\xe9'"),
    (("docs", "rm", "nothing"), "nothing"),
    (("docs", "rm", NOT_UTF8), "no document 'caf\\\\xe9'"),
    (("docs", "grep", "a", NOT_UTF8), "no document 'caf\\\\xe9'"),
    (("feedback", "zzz", "--right", "--source", "a"), "add --answer TEXT"),
    (("feedback", "zzz", "--answer", NOT_UTF8), "--answer is not UTF-8"),
    (("keys", "add", "ana", "--group", NOT_UTF8), "--group 'caf"),
    (("search", " "), "the question is empty"),
)
BUDGETS: tuple[tuple[Sequence[str], str], ...] = (
    (("ask", Q, "--max-tokens", "x"), "valid integer"),
    (("ask", Q, "--max-tokens", "1.5"), "valid integer"),
    (("ask", Q, "--max-calls", "-3"), "greater than or equal to 0"),
    (("ask", Q, "--max-cost", "inf"), "finite number"),
    (("ask", Q, "--max-cost", "-1"), "greater than or equal to 0"),
    (("ask", Q, "--deadline", "inf"), "finite number"),
    (("ask", Q, "--deadline", "nan"), "budget.seconds = nan"),
    (("ask", Q, "--deadline", "-1"), "greater than or equal to 0"),
    (("ask", Q, "--set", "budget.tokens=-1"), "greater than or equal to 0"),
)
SETTINGS: tuple[tuple[Sequence[str], str], ...] = (
    (("ask", Q, "--strategy", "magic"), "choose one of naive"),
    (("ask", Q, "-m", "openai"), "provider:model"),
    (("ask", Q, "-m", "nobody:x"), "provider:model"),
    (("ask", Q, "--set", "x"), "section.key=value"),
    (("ask", Q, "--set", "=5"), "unknown setting ''"),
    (("ask", Q, "--set", "retrieval=5"), "unknown setting 'retrieval'"),
    (
        ("ask", Q, "--set", "retrieval.retriever=Magic"),
        "'Magic' in --set: retriever 'Magic': choose one of vector, keyword",
    ),
    (("ask", Q, "--strategy", "mao", "--set", "mao.policy=Qds"), "rules, a workflow (R,DS,AG)"),
    (("ask", Q, "--set", "models.threads=5000"), "less than or equal to 1024"),
    (("ask", Q, "--set", "ask.min_confidence=inf"), "finite number"),
    (("ask", Q, "--set", "llm.base_url=http://a:b@c/"), "user name or password"),
    (("ask", Q, "--set", "roles.judge=llm"), "add -m PROVIDER:MODEL"),
    (("ask", Q, "--set", "domain.file=none.toml"), "no such file"),
    (("ask", Q, "--set", f"domain.file={LONG}"), "domain.file"),
    (("ask", Q, "--set", 'index.directory="a\\u0000b"'), "NUL"),
    (("config", "show", "--set", "a"), "section.key=value"),
)
SEARCHES: tuple[tuple[Sequence[str], str], ...] = (
    (("search", "x", "-k", "0"), "at least 1"),
    (("search", "x", "-k", "9" * 20), "at most 100000"),
    (("search", "x", "--retriever", "magic"), "choose one of"),
    (("search", "x", "--filter", "year"), "key=value"),
    (("search", "x", "--filter", "year>1,2"), "several values"),
    (("search", "x", "--filter", "1year=2"), "fathom status"),
    (("search", "x", "--filter", f"title={NOT_UTF8}"), "not UTF-8"),
    (("search", "x", "--index", "corpus/fees.md"), "no index at corpus/fees.md"),
    (("search", "x", "--index", LONG), LONG),
)
FILES: tuple[tuple[Sequence[str], str], ...] = (
    (("ingest", "nowhere"), "nowhere: no such file or folder"),
    (("ingest", "corpus/fees.md/x"), "no such file or folder"),
    (("ingest", LONG), LONG),
    (("ingest", "void"), "no file to ingest"),
    (("ingest", "corpus", "--index", "new", "--include", "*.rst"), "--include and --exclude"),
    (("ingest", "corpus", "--index", "corpus/fees.md"), "not a folder"),
    (("ingest", "corpus", "--index", "corpus/fees.md/x"), "not a folder"),
    (("ingest", "corpus", "--report", "void"), "cannot be written"),
    (("ingest", "corpus", "--report", "none/r.json"), "cannot be written"),
    (("ingest", "corpus", "--report", "/proc/none"), "cannot be written"),
    (("ingest", "corpus", "--set", "ingest.include=5"), "ingest.include"),
    (("ingest", "corpus", "--set", "limits.memory_mb=1000000000000"), "less than or equal"),
)
EVALUATIONS: tuple[tuple[Sequence[str], str], ...] = (
    (("eval", "none"), "none"),
    (("eval", LONG), LONG),
    (("eval", "void"), "corpus.jsonl"),
    (("eval", "void", "--strategy", "magic"), "choose one of naive"),
    (("eval", "void", "--retriever", "magic"), "choose one of vector"),
    (("eval", "void", "--records", "corpus/fees.md"), "the folder cannot be written into"),
    (("eval", "void", "--records", "/proc/none"), "the folder cannot be written into"),
    (("eval", "void", "--html", "none/x.html"), "cannot be written"),
    (("eval", "void", "--markdown", "void"), "cannot be written"),
    (("eval", "void", "--gate", "none.json"), "--save-baseline"),
    (("eval", "void", "--by", "colour"), "phase or kind"),
    (("eval", "void", "--judge", "wise", "--strategy", "naive"), "choose one of"),
    (("eval", "void", "--queries", "0"), "greater than or equal to 1"),
)
WRONG = (*CALLS, *BUDGETS, *SETTINGS, *SEARCHES, *FILES, *EVALUATIONS)


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with documents and their index."""
    place = tmp_path_factory.mktemp("made")
    (place / "void").mkdir()
    (place / "corpus").mkdir()
    (place / "corpus" / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns.\n")
    with Engine(Settings(index=IndexSettings(directory=place / ".fathom"))) as engine:
        engine.ingest([place / "corpus"])
    return place


@pytest.fixture
def index_copy(shared_index: Path, tmp_path: Path) -> Path:
    """Return a copy of the shared index, which wrong calls may damage."""
    shutil.copytree(shared_index, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_there_are_at_least_forty_cases() -> None:
    assert len({tuple(arguments) for arguments, _ in WRONG}) >= 40


@pytest.mark.parametrize(
    ("arguments", "part"), WRONG, ids=[" ".join(arguments)[:60] for arguments, _ in WRONG]
)
def test_wrong_input_is_refused_in_one_line(
    run: CommandRunner,  # noqa: F811
    index_copy: Path,
    arguments: Sequence[str],
    part: str,
) -> None:
    ran = run(*arguments)
    check_one_line(ran, 2, part)
    assert "a bug" not in ran.err
    as_json = run(*arguments, "--json")
    assert (as_json.code, as_json.err) == (2, ran.err)
    error = as_json.json["error"]
    assert ran.err == f"fathom: {error['message']}\n"
    assert error["exit_code"] == 2
    assert error["kind"].isidentifier()


@pytest.mark.parametrize("arguments", [("ask", Q), ("search", "permit"), ("status",)])
def test_errors_of_a_run_are_one_object_too(
    run: CommandRunner,  # noqa: F811
    index_copy: Path,
    arguments: Sequence[str],
) -> None:
    (index_copy / ".fathom" / "fathom.db").write_bytes(b"not a database" * 1000)
    check_one_line(run(*arguments), 5, "fathom.db is damaged")
    ran = run(*arguments, "--json")
    assert ran.json["error"]["kind"] == "IndexCorrupt"
    assert ran.json["error"]["exit_code"] == ran.code == 5


def test_wrong_settings_in_files_and_environment_are_refused(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FATHOM_RETRIEVAL__K", "many")
    check_one_line(run("status"), 2, "retrieval.k = 'many' in FATHOM_RETRIEVAL__K")
    monkeypatch.delenv("FATHOM_RETRIEVAL__K")
    (tmp_path / "fathom.toml").write_text("[retrieval\n")
    check_one_line(run("status"), 2, "fathom.toml cannot be read")
    (tmp_path / "fathom.toml").write_bytes(b'[ask]\nstrategy = "\xff"\n')
    check_one_line(run("status"), 2, "fathom.toml cannot be read")
    (tmp_path / "fathom.toml").write_text(json.dumps({}))
    check_one_line(run("status"), 2, "fathom.toml cannot be read")


def test_an_empty_address_is_refused(run: CommandRunner) -> None:  # noqa: F811
    check_one_line(run("serve", "--host", ""), 2, "--host is empty; name an address")
