"""Questions end to end: through the real client over a real socket, and replayed without one."""

import json
import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.factories import (
    FEES,
    QUESTION,
    SAMPLES,
    engine_at,
    index_fees,
    quote_first_sentence,
    reply,
)
from tests.scripted_server import (
    Act,
    Extractive,
    drips,
    echoes_the_key,
    find_closed_url,
    floods,
    never_ends,
    raw,
    resets,
    says,
    serve,
    stalls,
    status,
    waits,
)

from fathom.calibration.asking import AskingRule
from fathom.calibration.correctness import CorrectnessLaw
from fathom.engine import Engine
from fathom.jsonable import dump_canonical
from fathom.runs.recorder import format_answer
from fathom.types import Answer
from fathom.usage import Budget

CANARY = "sk-canary-5b0c"
COSTS = "A mooring permit costs 40 crowns a year."
GOOD = reply("One year of mooring costs 40 crowns with a permit.", COSTS)


@pytest.fixture(scope="module")
def fees_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("langchain_openai")
    return index_fees(tmp_path_factory.mktemp("fees"))


@pytest.fixture(autouse=True)
def _set_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", CANARY)


def open_with_model(folder: Path, url: str, *, floor: float = 0.6, **llm: Any) -> Engine:
    model = {
        "model": "openai:m",
        "base_url": url,
        "key_env": "CANARY",
        "tries": 1,
        "skip_above_confidence": 2,
    }
    return engine_at(folder, llm={**model, **llm}, ask={"min_confidence": floor})


def test_a_language_model_answers_with_verified_quotes(fees_index: Path) -> None:
    with (
        serve(says(GOOD)) as server,
        open_with_model(fees_index, server.base_url, floor=0.1) as engine,
    ):
        answer = engine.ask(QUESTION)
        replayed = engine.replay(str(answer.trace_id))
    assert answer.answer == "One year of mooring costs 40 crowns with a permit. [1]"
    assert answer.short_answer == "40 crowns"
    assert answer.citations[0].quote == COSTS
    assert (answer.usage.llm_calls, answer.usage.cost_usd) == (1, None)
    assert answer.usage.tokens > 100
    assert replayed.same
    assert server.calls == 1


FAULTS: dict[str, tuple[Act, ...]] = {
    "429": (status(429, headers={"Retry-After": "0"}),),
    "429 long": (status(429, headers={"Retry-After": "3600"}),),
    "500": (status(500),),
    "502": (status(502),),
    "503": (status(503),),
    "401": (echoes_the_key(401),),
    "404": (status(404),),
    "reset": (resets(),),
    "reset inside": (resets("It is "),),
    "no end": (says(GOOD, finish=None, done=False),),
    "flood": (floods(),),
    "garbage": (raw("\x00\x01 what?"), raw("{}")),
    "half JSON": (says(GOOD[:40]), says(GOOD[:40])),
    "wrong schema": (says('{"answer": 1}'), says("[]")),
    "NaN": (says('{"answerable": NaN}'), says('{"answerable": NaN}')),
    "twins": (says('{"answerable": true, "answerable": true}'), says("")),
    "empty": (says(""), says("")),
    "refusal": (says(refusal="I cannot help with that."),),
    "refusing prose": (says("I'm sorry, I can't."), says("No.")),
    "citation to 99": (says(reply("It costs 40 crowns.", COSTS, chunk=99)),),
    "invented": (says(reply("It costs 99 crowns.", COSTS)),),
    "invented quote": (says(reply("It costs 99 crowns.", "It costs 99 crowns.")),),
    "other language": (says(reply("Biayanya 77 kron.", COSTS)),),
}
HELD_S = 60
"""The seconds for which a server holds a call; `benchmarks/deadlines.py` measures deadlines."""
SLOW: dict[str, tuple[Act, ...]] = {
    "slow first byte": (waits(HELD_S, says(GOOD)),),
    "drip": (drips(GOOD, every_s=0.2),),
    "stall": (stalls("{"),),
    "never ends": (never_ends(every_s=0.01),),
}


def ask_with_local_fallback(folder: Path, acts: tuple[Act, ...], **budget: Any) -> None:
    """Ask with the local fallback and with `fallback = "abstain"`; replay both."""
    with serve(*acts, *acts) as server:
        for fallback in ("local", "abstain"):
            with open_with_model(folder, server.base_url, fallback=fallback) as engine:
                answer = engine.ask(QUESTION, budget=Budget(**budget))
                replayed = engine.replay(str(answer.trace_id))
            assert replayed.same, replayed.difference
            check_fallback(answer, fallback)


def check_fallback(answer: Answer, fallback: str) -> None:
    text = json.dumps(format_answer(answer))
    assert CANARY not in text
    assert all(citation.quote in FEES for citation in answer.citations)
    assert all(citation.verified for citation in answer.citations)
    if fallback == "local":
        assert answer.answer == f"{COSTS} [1]"
    else:
        assert (answer.status, answer.answer) in {("failed", ""), ("abstained", "")}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_server_failure_gives_a_typed_outcome(fees_index: Path, fault: str) -> None:
    ask_with_local_fallback(fees_index, FAULTS[fault])


@pytest.mark.parametrize("fault", SLOW)
def test_a_slow_server_is_cut_off(fees_index: Path, fault: str) -> None:
    acts = SLOW[fault]
    with serve(*acts * 3) as server, open_with_model(fees_index, server.base_url) as engine:
        # A busy machine may need the whole time for what comes before the model.
        for seconds in (1.5, 6.0, 24.0):
            answer = engine.ask(QUESTION, budget=Budget(seconds=seconds))
            assert engine.replay(str(answer.trace_id)).same
            if server.calls and answer.status == "answered":
                break
    check_fallback(answer, "local")
    assert answer.usage.seconds < HELD_S


def test_a_server_that_does_not_listen_is_survived(fees_index: Path) -> None:
    with open_with_model(fees_index, find_closed_url()) as engine:
        check_fallback(engine.ask(QUESTION), "local")


@pytest.mark.parametrize("tokens", [0, -5, 10**12])
def test_a_false_usage_report_is_ignored(fees_index: Path, tokens: int) -> None:
    lie = {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": tokens}
    with (
        serve(says(GOOD, usage=lie)) as server,
        open_with_model(fees_index, server.base_url) as engine,
    ):
        answer = engine.ask(QUESTION, budget=Budget(tokens=5_000))
    assert 100 < answer.usage.tokens <= 5_000
    assert answer.status == "answered"


@pytest.mark.parametrize("budget", [Budget(calls=0), Budget(tokens=50), Budget(cost_usd=0.01)])
def test_no_call_is_made_without_budget_for_it(fees_index: Path, budget: Budget) -> None:
    with serve(says(GOOD)) as server, open_with_model(fees_index, server.base_url) as engine:
        answer = engine.ask(QUESTION, budget=budget)
        assert engine.replay(str(answer.trace_id)).same
    assert (server.calls, answer.answer) == (0, f"{COSTS} [1]")


def test_a_budget_spent_before_a_supported_answer_is_reported(fees_index: Path) -> None:
    with serve(says(GOOD)) as server, open_with_model(fees_index, server.base_url) as engine:
        answer = engine.ask("Which enzyme unwinds a helix?", budget=Budget(calls=0))
    assert (answer.status, answer.stop_reason) == ("abstained", "budget")


def test_the_key_is_stored_nowhere(fees_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    acts = (says(reply(f"{COSTS} {CANARY}", COSTS)), echoes_the_key(401))
    with serve(*acts) as server, open_with_model(fees_index, server.base_url) as engine:
        answers = [engine.ask(f"{QUESTION} {CANARY}") for _ in acts]
        traces = [engine.traces.get(str(answer.trace_id)).data for answer in answers]
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert not any(CANARY.encode() in data for data in traces)
    assert CANARY not in caplog.text
    assert CANARY not in "".join(answer.answer for answer in answers)
    files = (path for path in (fees_index / "index").rglob("*") if path.is_file())
    assert not any(CANARY.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("strategy", ["naive", "adaptive"])
@pytest.mark.parametrize(("least", "most", "calls"), [(0.0, 1.0, 1), (0.9, 1.0, 0)])
def test_a_run_that_asks_by_probability_replays_without_the_rule_of_today(
    fees_index: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, least: float, most: float,
    calls: int,
) -> None:  # fmt: skip
    rule = AskingRule(law=CorrectnessLaw(weights={}, offset=0.0), least=least, most=most)
    with (
        serve(says(GOOD)) as server,
        open_with_model(fees_index, server.base_url, skip_above_confidence=None) as engine,
    ):
        with monkeypatch.context() as patch:
            patch.setattr("fathom.assembly.calibrations.make_asking_rule", lambda *_: rule)
            answer = engine.ask(QUESTION, strategy=strategy)
        trace = engine.trace(str(answer.trace_id))
        replayed = engine.replay(str(answer.trace_id))
    assert (answer.usage.llm_calls, server.calls) == (calls, calls)
    assert [step.verdict for step in trace.steps if step.name == "estimate"] == [
        "ask" if calls else "local"
    ]
    assert replayed.same


def test_recorded_events_replay_under_another_setting(fees_index: Path) -> None:
    with engine_at(fees_index) as engine:
        trace_id = str(engine.ask(QUESTION, strategy="naive").trace_id)
        strict = engine.replay(trace_id, assignments=["ask.min_confidence=1.0"])
        wider = engine.replay(trace_id, assignments=["ask.chunks=20"])
        model = engine.replay(
            trace_id, assignments=["llm.model=openai:m", "llm.skip_above_confidence=2"]
        )
        every = engine.replay(
            trace_id, assignments=["ask.min_confidence=1", "ask.min_probability=0"]
        )
    assert strict.answer is not None
    assert (strict.same, strict.answer.stop_reason) == (False, "low_confidence")
    assert every.answer is not None
    assert every.answer.status == "answered"
    assert "answered" in str(strict.difference)
    assert (wider.answer, wider.missing) == (None, ("search in search: is not in the trace",))
    assert model.missing == ("in time in read/prune: is not in the trace",)


@pytest.mark.parametrize(
    "how", ["rm", "prune", "change", "killed before the sweep", "copy", "none"]
)
def test_deleting_a_document_deletes_its_text_from_traces(tmp_path: Path, how: str) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION)
        (document,) = list(engine.documents.list())
        file = Path(document.path)
        if how == "copy":
            shutil.copy(file, file.with_name("copy.md"))
        if how in {"prune", "copy"}:
            file.unlink()
        elif how != "none":
            file.write_text("It is secret now.")
        if how == "rm":
            engine.documents.remove([document.id])
        elif how == "killed before the sweep":
            Path(engine.directory / "traces.db").rename(tmp_path / "aside")
            engine.ingest([file.parent])
            (tmp_path / "aside").rename(engine.directory / "traces.db")
            engine.close()  # as the next process opens them
        elif how != "none":
            (file.parent / "other.md").write_text("Something else.")
            engine.ingest([file.parent], prune=True)
        ids = [trace.id for trace in engine.traces.list()]
    assert ids == ([answer.trace_id] if how in {"copy", "none"} else [])


def test_an_answer_is_returned_even_if_its_trace_cannot_be_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        (tmp_path / "index" / "traces.db").write_bytes(b"no database" * 100)
        answer = engine.ask(QUESTION)
    assert (answer.status, answer.trace_id) == ("answered", None)
    assert "the trace was not stored" in caplog.text
    with engine_at(tmp_path, trace={"enabled": False}) as engine:
        assert engine.ask(QUESTION).trace_id is None


WATCHED = {"on": False}


def record_socket_use(event: str, _: object) -> None:
    if WATCHED["on"] and event in {"socket.connect", "socket.getaddrinfo", "socket.bind"}:
        raise AssertionError(f"a replay opened a socket: {event}")


@pytest.fixture
def _forbid_sockets() -> Iterator[None]:
    sys.addaudithook(record_socket_use)  # cannot be taken away again, so it can be switched off
    yield
    WATCHED["on"] = False


QUESTIONS = [
    json.loads(line)["text"]
    for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


def check_replays(
    folder: Path,
    other: Path,
    certain: float | None,
    questions: list[str],
    count_probes: Callable[[int], None],
) -> None:
    """Ask over `folder` and replay over an index of other documents, without a socket."""
    with serve(Extractive(quote_first_sentence)) as server:
        opened = engine_at(folder)
        if certain is not None:
            opened = open_with_model(folder, server.base_url, skip_above_confidence=certain)
        with opened as engine:
            answers = [engine.ask(question) for question in questions]
            traces = [engine.traces.get(str(answer.trace_id)) for answer in answers]
        calls = server.calls
    assert (calls > 0) == (certain is not None)
    assert sum(answer.status == "answered" for answer in answers) >= len(questions) / 3
    WATCHED["on"] = True
    with engine_at(index_fees(other)) as engine:
        for answer, trace in zip(answers, traces, strict=True):
            engine.traces.store.put(trace)
            count_probes(1)
            done = engine.replay(trace.id)
            assert done.same, done.difference
            assert dump_canonical(format_answer(done.answer)) == dump_canonical(
                format_answer(answer)
            )
    for trace in traces:
        # A search is recorded with its hits, of which a question of two facts takes many; the text
        # of a chunk stands in the first search that found it.
        searches = sum(event.kind == "search" for event in trace.events)
        assert len(trace.data) < 69_000 + 4_000 * searches


@pytest.mark.usefixtures("_forbid_sockets")
@pytest.mark.parametrize("certain", [None, 2.0, 0.6], ids=["local", "model", "mixed"])
def test_ten_questions_replay_byte_for_byte_without_a_socket_or_the_index(
    samples: Path, certain: float | None, tmp_path: Path, count_probes: Callable[[int], None]
) -> None:
    check_replays(samples, tmp_path, certain, QUESTIONS[:30:3], count_probes)


@pytest.mark.slow
@pytest.mark.usefixtures("_forbid_sockets")
@pytest.mark.parametrize("certain", [None, 2.0, 0.6], ids=["local", "model", "mixed"])
def test_two_hundred_questions_replay_byte_for_byte(
    samples: Path, certain: float | None, tmp_path: Path, count_probes: Callable[[int], None]
) -> None:
    turned = [f"{question} {QUESTIONS[at - 1]}" for at, question in enumerate(QUESTIONS)]
    check_replays(samples, tmp_path, certain, [*QUESTIONS, *turned][:67], count_probes)
