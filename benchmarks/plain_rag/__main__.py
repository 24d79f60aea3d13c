"""Fathom beside the default question answering of LangChain and LlamaIndex, with the same model.

    python -m benchmarks.plain_rag SET --model local:FILE [--questions 40] [--index DIR]

Each gets the same documents, embedder and model, and as many texts (`--k`, 4). The frameworks use
their own splitters and prompts, and each question is followed by a request for a short answer, as
their answers would else be whole sentences. llama.cpp counts the tokens. Answers are kept below
`--work`, one a line, so that a run which was stopped goes on where it was. Printed are F1, right
and wrong answers, tokens, seconds, and how often the cited texts hold an accepted answer, each
beside Fathom's with a paired test.
"""

import argparse
import asyncio
import gzip
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.rivals.environments import prepare_python
from httpx2 import AsyncClient

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.evaluation.statistics import bootstrap_interval, randomisation_p
from fathom.llm.local import find_weights
from fathom.llm.local_server import LocalOptions, LocalServer
from fathom.models.runtime import count_physical_cores
from fathom.text.answer_match import contains_answer
from fathom.text.answer_scores import is_right, score_f1

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
SYSTEMS = ("fathom", *PINS)
NO_ANSWER = re.compile(
    r"\b(?:(?:do|does|did)(?:n't| not) (?:know|mention|provide|specify|state|contain)|"
    r"no information|not (?:mentioned|provided|specified|stated|given|known)|unknown|"
    r"tidak (?:tahu|diketahui|disebutkan))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedReply:
    """The reply of a system to a question.

    Attributes:
        cited: Whether the cited texts hold an accepted answer.
        tokens: Prompt and reply, by llama.cpp's count.
    """

    system: str
    question: str
    answer: str
    answerable: bool
    f1: float
    right: bool
    cited: bool
    tokens: int
    seconds: float

    @property
    def is_wrong(self) -> bool:
        """True for an answer that is not right."""
        return bool(self.answer) and not self.right


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


def grade(
    system: str,
    question: DatasetQuestion,
    answer: str,
    sources: Sequence[str],
    tokens: int,
    seconds: float,
) -> GradedReply:
    """Return a reply with its grades; one that says that it does not know is no answer."""
    answer = "" if NO_ANSWER.search(answer) else answer.strip().rstrip(".")
    gold = question.answers
    return GradedReply(
        system=system,
        question=question.id,
        answer=answer,
        answerable=question.answerable,
        f1=score_f1(answer, gold) if question.answerable else float(not answer),
        right=question.answerable and bool(answer) and is_right(answer, gold),
        cited=any(contains_answer(source, text) for source in sources for text in gold),
        tokens=tokens,
        seconds=seconds,
    )


def run_framework(
    system: str, dataset: Dataset, questions: Sequence[DatasetQuestion], options: argparse.Namespace
) -> Iterator[GradedReply]:
    """Yield the replies of a framework, which runs in its own environment."""
    python = prepare_python(system, options.work / "env", PINS[system])
    weights = find_weights(options.model)
    server = CountingServer(weights)
    job = {
        "documents": read_documents(dataset.corpus),
        "questions": [question.text + BRIEF for question in questions],
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
        for question, line in zip(questions, worker.stdout, strict=False):
            reply: dict[str, Any] = json.loads(line)
            tokens, before = server.tokens - before, server.tokens
            yield grade(
                system, question, reply["answer"], reply["sources"], tokens, reply["seconds"]
            )
        if worker.wait():
            raise SystemExit(f"plain_rag: {system} failed: see above; the others need not wait")


def run_fathom(
    dataset: Dataset, questions: Sequence[DatasetQuestion], options: argparse.Namespace
) -> Iterator[GradedReply]:
    """Yield Fathom's replies by its defaults, with the model."""
    settings = parse_settings(
        {
            "index.directory": str(options.index or options.work / "index" / dataset.name),
            "llm.model": options.model,
            "budget.seconds": 600.0,
        }
    )
    with prepare_engine(Engine(settings), dataset) as engine:
        for question in questions:
            answer = engine.ask(question.text, strategy="naive")
            yield grade(
                "fathom",
                question,
                answer.short_answer or answer.answer,
                [citation.quote for citation in answer.citations],
                answer.usage.tokens,
                round(answer.usage.seconds, 2),
            )


def format_table(replies: Sequence[GradedReply]) -> str:
    """Return the table of all systems over the questions that each has answered."""
    by_system = {
        system: {reply.question: reply for reply in replies if reply.system == system}
        for system in SYSTEMS
    }
    by_system = {system: rows for system, rows in by_system.items() if rows}
    shared = set.intersection(*(set(rows) for rows in by_system.values()))
    order = sorted(shared)
    lines = [
        f"{len(order)} questions",
        "| system | F1 | 95 % | against Fathom, p | right | wrong | tokens | p50 s | cited |",
        "|" + "---|" * 9,
    ]
    ours = by_system.get("fathom")
    for system, rows in by_system.items():
        group = [rows[question] for question in order]
        low, high = bootstrap_interval([reply.f1 for reply in group])
        compared = ""
        if ours is not None and system != "fathom":
            differences = [ours[question].f1 - rows[question].f1 for question in order]
            compared = f"{fmean(differences):+.3f}, {randomisation_p(differences):.3f}"
        answerable = [reply for reply in group if reply.answerable]
        lines.append(
            f"| {system} | {fmean(reply.f1 for reply in group):.3f} | {low:.3f} to {high:.3f} | "
            f"{compared} | {fmean(reply.right for reply in group):.3f} | "
            f"{fmean(reply.is_wrong for reply in group):.3f} | "
            f"{fmean(reply.tokens for reply in group):.0f} | "
            f"{median(reply.seconds for reply in group):.1f} | "
            f"{fmean(reply.cited for reply in answerable):.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--model", required=True)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--index", type=Path, help="Fathom's index of the set")
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "plain_rag")
    options = parser.parse_args()
    dataset = load(DATA / options.dataset)
    gradable = [
        question for question in dataset.questions if question.answers or not question.answerable
    ]
    sample = gradable[:: max(1, len(gradable) // options.questions)][: options.questions]
    file = options.work / f"{dataset.name}-{Path(options.model).stem}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    replies = [GradedReply(**json.loads(line)) for line in read_whole_lines(file)]
    for system in options.systems:
        seen = {reply.question for reply in replies if reply.system == system}
        missing = [question for question in sample if question.id not in seen]
        run = (
            run_fathom(dataset, missing, options)
            if system == "fathom"
            else run_framework(system, dataset, missing, options)
        )
        for reply in run if missing else ():
            append_line(file, asdict(reply))
            replies.append(reply)
    print(format_table(replies))


if __name__ == "__main__":
    main()
