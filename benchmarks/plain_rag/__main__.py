"""Fathom beside the default question answering of LangChain and LlamaIndex, with the same model.

    python -m benchmarks.plain_rag SET... --model local:FILE [--questions 40] [--indexes PLACE]
    python -m benchmarks.plain_rag --table

Each gets the same documents, embedder and model, and as many texts (`--k`, 4). The frameworks use
their own splitters and prompts, and each question is followed by a request for a short answer, as
their answers would else be whole sentences. Fathom without a model is asked too (`local`).
llama.cpp counts the tokens. Answers are kept below `--work`, one a line, so that a run which was
stopped goes on where it was; `--publish` adds their grades, without the answers, to
`results.jsonl.gz`, and what stands there is not asked again. Printed are F1, right and wrong
answers, tokens, seconds, and how often the cited texts hold an accepted answer, each beside
Fathom's with a paired test.
"""

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.plain_rag.replies import (
    LOCAL,
    OURS,
    SYSTEMS,
    GradedReply,
    Reply,
    RunFacts,
    Task,
    grade,
    name_weights,
    publish,
    read_published,
)
from benchmarks.plain_rag.tables import format_tables
from benchmarks.rivals.environments import prepare_python
from experiments.lab.kept_replies import KeptReplies, connect_keeping
from experiments.lab.role_calls import describe_answer
from experiments.lab.samples import draw_unlearned
from experiments.roles import overshoots_budget
from httpx2 import AsyncClient

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.llm.local import find_weights
from fathom.llm.local_server import LocalOptions, LocalServer
from fathom.models.runtime import count_physical_cores
from fathom.runs.concurrency import run_in_loop
from fathom.strategies.run import RunOutcome

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SHARED_DATA", ROOT / "../shared/data"))
BRIEF = " Answer in a few words, or say that you don't know."
SHARED_PINS = {"numpy": "2.4.6", "onnxruntime": "1.32.0", "tokenizers": "0.23.3"}
PINS: Mapping[str, dict[str, str]] = {
    "langchain": {
        "langchain-classic": "1.0.8",
        "langchain-community": "0.4.2",
        "langchain-openai": "1.7.3",
        "langchain-text-splitters": "1.1.3",
        "faiss-cpu": "1.15.1",
        **SHARED_PINS,
    },
    "llamaindex": {
        "llama-index-core": "0.14.25",
        "llama-index-llms-openai-like": "0.8.1",
        **SHARED_PINS,
    },
}


class CountingServer:
    """A server of OpenAI's protocol before llama.cpp that counts tokens."""

    def __init__(self, weights: Path) -> None:
        """Start the child."""
        self.tokens = 0
        self._weights = weights
        self._server = LocalServer(
            LocalOptions(threads=count_physical_cores(), context_tokens=8192)
        )
        self._server.load(weights)

    def forward(self, body: bytes) -> bytes:
        """Return llama.cpp's reply to a request."""
        reply = asyncio.run(self._post(body))
        usage = json.loads(reply).get("usage") or {}
        self.tokens += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        return reply

    async def _post(self, body: bytes) -> bytes:
        async with (
            self._server.serve(self._weights, inf) as address,
            AsyncClient(timeout=None, trust_env=False) as client,
        ):
            reply = await client.post(
                f"{address.base_url}/chat/completions",
                content=body,
                headers={
                    "Authorization": f"Bearer {address.key.get_secret_value()}",
                    "Content-Type": "application/json",
                },
            )
            return reply.raise_for_status().content

    @contextmanager
    def listen(self) -> Iterator[str]:
        """Yield the address."""
        counting = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                reply = counting.forward(body)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/v1"
        finally:
            http.shutdown()
            self._server.stop()


def read_documents(file: Path) -> list[str]:
    """Return the documents of a corpus, each with its title above its text."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [
            "\n".join(filter(None, (row.get("title", ""), row["text"])))
            for row in map(json.loads, lines)
        ]


def run_framework(system: str, task: Task, options: argparse.Namespace) -> Iterator[GradedReply]:
    """Yield the replies of a framework, which runs in its own environment."""
    python = prepare_python(system, options.work / "env", PINS[system])
    weights = find_weights(task.model)
    server = CountingServer(weights)
    job = {
        "documents": read_documents(task.dataset.corpus),
        "questions": [question.text + BRIEF for question in task.questions],
        "model": weights.stem,
        "k": options.k,
    }
    surroundings = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with server.listen() as address:
        worker = subprocess.Popen(
            [str(python), "-m", "benchmarks.plain_rag.worker", system, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=surroundings,
        )
        assert worker.stdin
        assert worker.stdout
        worker.stdin.write(json.dumps(job))
        worker.stdin.close()
        before = 0
        for question, line in zip(task.questions, worker.stdout, strict=False):
            given: dict[str, Any] = json.loads(line)
            tokens, before = server.tokens - before, server.tokens
            reply = Reply(given["answer"], given["sources"], tokens, given["seconds"])
            yield grade(task, system, question, reply)
        if worker.wait():
            raise SystemExit(f"plain_rag: {system} failed: see above; the others need not wait")


def run_fathom(system: str, task: Task, options: argparse.Namespace) -> Iterator[GradedReply]:
    """Yield Fathom's replies by its defaults, with the model or without any."""
    settings = parse_settings(
        {
            "index.directory": str((options.indexes or options.work / "index") / task.dataset.name),
            "llm.model": task.model if system == OURS else "",
            "budget.seconds": 600.0,
        }
    )
    # What a run before this one asked is not asked again; its time counts as it was.
    replies = KeptReplies(options.work / "model-replies.jsonl")
    with (
        connect_keeping(settings, replies) as connect,
        prepare_engine(Engine(settings, connect=connect), task.dataset) as engine,
    ):
        for question in task.questions:
            saved, untimed = replies.saved_seconds, replies.untimed
            outcome = run_in_loop(engine.arun(AskRequest.parse(question.text)))
            answer = outcome.answer
            is_answered = answer.status == "answered"
            seconds = round(answer.usage.seconds + replies.saved_seconds - saved, 2)
            reply = Reply(
                (answer.short_answer or answer.answer) if is_answered else "",
                [citation.quote for citation in answer.citations],
                answer.usage.tokens,
                seconds if replies.untimed == untimed else None,
                collect_facts(outcome, question, engine),
            )
            yield grade(task, system, question, reply)


def collect_facts(outcome: RunOutcome, question: DatasetQuestion, engine: Engine) -> RunFacts:
    """Return the facts of a run that its answer alone does not show."""
    answer, trace = outcome.answer, outcome.trace
    quotes = describe_answer(answer, question, engine.documents.get)
    replies = [step for step in trace.steps if step.name == "ask"]
    requests = sum(event.kind == "llm" for event in trace.events)
    return RunFacts(
        confidence=answer.confidence or 0.0,
        tentative=answer.tentative,
        prompt=answer.usage.prompt_tokens,
        calls=len(replies),
        invalid=requests - sum("reply" in step.outputs for step in replies),
        quotes=quotes.quotes,
        verbatim=quotes.verbatim,
        overshoot=overshoots_budget(outcome),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--model")
    parser.add_argument("--questions", type=int, default=40, help="of each set")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--indexes", type=Path, help="with Fathom's indexes of the sets")
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "plain_rag")
    parser.add_argument("--table", action="store_true", help="ask nothing")
    parser.add_argument("--publish", action="store_true", help="ask nothing, write the results")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    file = options.work / "replies.jsonl"
    replies = [
        *read_published(),
        *(GradedReply.from_json(json.loads(line)) for line in read_whole_lines(file)),
    ]
    if options.publish:
        publish(replies)
    seen = {reply.key for reply in replies}
    for name in () if options.table or options.publish else options.datasets:
        dataset = load(DATA / name)
        for system in options.systems:
            missing = [
                question
                for question in draw_unlearned(dataset, options.questions)
                if (name, name_weights(options.model), system, question.id) not in seen
            ]
            task = Task(dataset=dataset, model=options.model, questions=missing)
            run = run_fathom if system in {OURS, LOCAL} else run_framework
            for reply in run(system, task, options) if missing else ():
                append_line(file, asdict(reply))
                replies.append(reply)
    print(format_tables(replies))


if __name__ == "__main__":
    main()
