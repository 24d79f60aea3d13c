"""Traces on the command line: budgets, explanations, listing, replays."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.factories import QUESTION, reply
from tests.scripted_server import says, serve
from tests.serving.cli.test_app import CommandOutput, CommandRunner, check_one_line, corpus, run  # noqa: F401 - fixtures

COSTS = "A mooring permit costs 40 crowns a year."
CANARY = "sk-canary-41aa"


@pytest.fixture
def asked_question(run: CommandRunner, corpus: Path) -> CommandOutput:  # noqa: F811
    run("ingest", str(corpus))
    return run("ask", QUESTION, "--json")


def list_keys(answer: dict[str, Any]) -> set[str]:
    return {key for key, value in answer.items() if value}


def drop_unknown(citation: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in citation.items() if key not in {"recognised", "date"}}


def test_a_trace_is_listed_shown_replayed_and_deleted(
    asked_question: CommandOutput,
    run: CommandRunner,  # noqa: F811
) -> None:
    answer: dict[str, Any] = asked_question.json
    trace_id = answer["trace_id"]
    (listed,) = run("trace", "--json").json["traces"]
    assert (listed["id"], listed["status"]) == (trace_id, "answered")
    assert trace_id[:12] in run("trace").out

    output = run("trace", trace_id[:10])
    assert "─ search (retriever)" in output.out
    assert "because" in output.out
    lines = run("trace", trace_id, "--json").json["lines"]
    # Warnings are of now, and a trace leaves out what does not apply to its answer.
    left_out = {"warnings", "tentative", "disputed"} | (
        {"standalone_question", "calibration", "calculation"} - list_keys(answer)
    )
    recorded = {key: value for key, value in answer.items() if key not in left_out}
    recorded["citations"] = [drop_unknown(citation) for citation in answer["citations"]]
    assert lines[-1]["answer"] == recorded | {"trace_id": None}

    replayed = run("replay", trace_id, "--json")
    assert replayed.code == 0
    assert list(replayed.json) == [
        "trace_id",
        "same",
        "difference",
        "missing",
        "prompts",
        "answer",
    ]
    assert replayed.json["same"] is True
    assert replayed.json["answer"] == answer | {"trace_id": None}
    assert run("replay", trace_id).out.startswith("the same answer, byte for byte\n")

    other = run("replay", trace_id, "--set", "ask.min_confidence=1")
    assert other.code == 0
    assert other.out.startswith("differs: step plan")
    wider = run("replay", trace_id, "--set", "ask.chunks=40")
    assert wider.code == 5
    assert "ask the question again" in wider.out
    check_one_line(run("replay", trace_id, "--set", "ask.nothing=1"), 2, "unknown setting")

    assert run("trace", trace_id, "--delete").out == f"{trace_id} deleted\n"
    check_one_line(run("trace", trace_id), 2, "no trace begins with")
    assert run("trace").out == "no traces\n"


def test_a_trace_is_exported(asked_question: CommandOutput, run: CommandRunner) -> None:  # noqa: F811
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    exported = run("trace", asked_question.json["trace_id"], "--otel", "spans.json")
    assert (exported.code, exported.err) == (0, "")
    assert exported.out.endswith(" spans written to spans.json\n")
    trace_id = asked_question.json["trace_id"]
    as_json = run("trace", trace_id, "--otel", "spans.json", "--json").json
    assert as_json == {"exported": trace_id, "target": "spans.json"}


def test_an_export_replaces_no_document(
    asked_question: CommandOutput,
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    file = corpus / "fees.md"
    before = file.read_text()
    trace_id = asked_question.json["trace_id"]
    refused = run("trace", trace_id, "--otel", str(file))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "the index holds this file as a document; name another one" in refused.err
    assert file.read_text() == before
    assert run("trace", trace_id, "--otel", "fathom.toml").code == 2


def test_a_spent_budget_is_exit_code_4(asked_question: CommandOutput, run: CommandRunner) -> None:  # noqa: F811
    ran = run("ask", QUESTION, "--deadline", "0", "--json")
    assert (ran.code, ran.json["status"], ran.json["stop_reason"]) == (4, "abstained", "budget")
    assert ran.json["budget"]["seconds"] == 0
    assert "budget was spent" in run("ask", QUESTION, "--deadline", "0").out


def test_options_set_the_budget(asked_question: CommandOutput, run: CommandRunner) -> None:  # noqa: F811
    flags = ("--max-tokens", "500", "--max-calls", "2", "--max-cost", "0.5", "--deadline", "60")
    budget = run("ask", QUESTION, *flags, "--json").json["budget"]
    assert budget == {
        "tokens": 500, "calls": 2, "seconds": 60, "cost_usd": 0.5, "retrievals": 60,
    }  # fmt: skip
    low = run("ask", QUESTION, "--effort", "low", "--max-calls", "1", "--json").json["budget"]
    assert (low["tokens"], low["calls"], low["retrievals"]) == (10_000, 1, 6)
    check_one_line(run("ask", QUESTION, "--effort", "huge"), 2, "budget.effort", "'low'")
    check_one_line(run("ask", QUESTION, "--deadline", "-1"), 2, "budget.seconds", "greater")
    check_one_line(run("ask", QUESTION, "--strategy", "magic"), 2, "'magic'", "naive")


def test_the_steps_are_explained_after_the_answer(
    asked_question: CommandOutput,
    run: CommandRunner,  # noqa: F811
) -> None:
    out = run("ask", QUESTION, "--explain").out
    assert out.index(COSTS) < out.index("─ finalize (finalizer) -> answered")
    untraced = run("ask", QUESTION, "--explain", "--set", "trace.enabled=false")
    assert "were not stored" in untraced.out


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("-m", "openai:m", "--offline"), ("--offline", "openai:m")),
        (("-m", "openai:m"), ("export OPENAI_API_KEY",)),
        (("-m", "magic:m"), ("unknown model 'magic:m'", "openai:")),
        (("--set", "roles.reader=llm"), ("roles.reader", "-m")),
    ],
)
def test_an_unusable_model_is_reported_in_one_line_before_anything_is_opened(
    run: CommandRunner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    check_one_line(run("ask", QUESTION, *flags), 2, *parts)


def test_a_language_model_answers_and_its_key_is_shown_nowhere(
    asked_question: CommandOutput,
    run: CommandRunner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("CANARY", CANARY)
    with serve(says(reply("Mooring permits cost 40 crowns.", COSTS))) as server:
        model = ("-m", "openai:m", "--set", f"llm.base_url={server.base_url}")
        flags = (*model, "--set", "llm.key_env=CANARY", "--set", "llm.skip_above_confidence=2")
        ran = run("ask", QUESTION, *flags, "--json")
        output = run("config", "show", "--json", *flags[2:])
    assert ran.json["answer"] == "Mooring permits cost 40 crowns. [1]"
    assert ran.json["usage"]["llm_calls"] == 1
    trace = run("trace", ran.json["trace_id"], "--json")
    replayed = run("replay", ran.json["trace_id"], "--json")
    assert replayed.json["same"] is True
    assert output.json["llm.key_env"]["value"] == "CANARY"
    assert not any(CANARY in output.out + output.err for output in (ran, output, trace, replayed))


def test_a_changed_trace_is_detected(
    asked_question: CommandOutput,
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
) -> None:
    import sqlite3
    import zlib

    with sqlite3.connect(tmp_path / ".fathom" / "traces.db") as database:
        (data,) = database.execute("SELECT data FROM traces").fetchone()
        forged = zlib.compress(zlib.decompress(data).replace(b"40 crowns", b"99 crowns"))
        database.execute("UPDATE traces SET data = ?", (forged,))
    database.close()
    for command in ("trace", "replay"):
        check_one_line(run(command, json.loads(asked_question.out)["trace_id"]), 5, "was changed")


def test_a_replay_with_another_prompt_reports_it(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    mine = tmp_path / "prompts" / "reader.txt"
    mine.parent.mkdir()
    mine.write_text("Answer from the chunks, or reply with null.")
    run("ingest", str(corpus))
    with serve(says(reply(COSTS, COSTS))) as server:
        answer = run(
            *("ask", QUESTION, "--json", "-m", "openai:m"),
            *("--set", f"llm.base_url={server.base_url}", "--set", "llm.skip_above_confidence=2"),
        ).json
    assert answer["usage"]["llm_calls"] == 1
    trace_id = answer["trace_id"]
    version = run("config", "prompts", "reader", "--json").json["version"]
    assert f"in  prompt: reader {version}" in run("trace", trace_id).out
    assert run("replay", trace_id).out.startswith("the same answer")
    other = run("replay", trace_id, "--set", f"llm.prompts={mine.parent}")
    assert other.code == 5
    assert f"prompt reader {version} is reader " in other.out
    assert f"({mine}) now" in other.out
