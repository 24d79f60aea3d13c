"""The share of answers that replay byte for byte: python benchmarks/replay.py.

Draws questions from data sets below SHARED_DATA (default ../shared/data), spreads them over all
strategies and over local agents, a language model as reader, and one in every role (the extractive
stub of `experiments/lab/stub_llm.py` behind a real socket). Each is replayed from its trace over
an index of another document, with the server gone and every score of the local models computed
anew. The bar is all of them.
"""

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.lab.stub_llm import ExtractiveModel
from tests.role_mixes import MIXES, sections
from tests.scripted_server import Extractive, serve

from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.evaluation.datasets import load
from fathom.evaluation.runner import build_filters
from fathom.jsonable import dump_canonical
from fathom.registry import STRATEGIES
from fathom.runs.recorder import format_answer
from fathom.settings import Settings
from fathom.strategies.run import RunOutcome

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
SETS = ("squad-retrieval", "hotpotqa-200", "ramdocs", "idk-mrc-retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """An answer and its origin."""

    dataset: str
    mix: str
    outcome: RunOutcome


def open_engines(index: Path, base: Engine, url: str) -> dict[str, Engine]:
    """Return an engine for each mix, with the local models of `base`."""
    tree = {"index": {"directory": index}, "trace": {"enabled": False}}
    return {
        mix: Engine(
            Settings.model_validate({**tree, **sections(mix, url)}),
            embedder=base.embedder,
            cross_reader=base.assembly.cross_reader,
        )
        for mix in MIXES
    }


def ask_questions(options: argparse.Namespace) -> Iterator[RecordedAnswer]:
    """Yield the answers; each data set gets every pair of strategy and mix about equally often."""
    base = Engine()
    count = -(-options.questions // len(options.sets))
    with serve(Extractive(ExtractiveModel(base.assembly.cross_reader))) as server:
        for shift, name in enumerate(options.sets):
            pairs = list(product(MIXES, STRATEGIES))
            engines = open_engines(options.indexes / name, base, server.base_url)
            with ExitStack() as stack:
                for engine in engines.values():
                    stack.enter_context(engine)
                for place, question in enumerate(load(DATA / name).sample(count)):
                    mix, strategy = pairs[(place + shift * len(pairs) // 4) % len(pairs)]
                    ask = engines[mix].arun(
                        AskRequest.parse(
                            question.text, strategy=strategy, filters=build_filters(question)
                        )
                    )
                    yield RecordedAnswer(dataset=name, mix=mix, outcome=asyncio.run(ask))


def find_difference(engine: Engine, outcome: RunOutcome) -> str:
    """Return where the replayed answer differs; empty if it does not."""
    engine.traces.store.put(outcome.trace)
    done = engine.replay(outcome.trace.id)
    engine.traces.delete(outcome.trace.id)
    if done.answer is None:
        return f"missing: {done.missing}"
    same = dump_canonical(format_answer(done.answer)) == dump_canonical(
        format_answer(outcome.answer)
    )
    return "" if same and done.same else f"differs: {done.difference}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--questions", type=int, default=200, help="of all data sets together")
    parser.add_argument("--indexes", type=Path, default=Path(".work"), help="an index per set")
    options = parser.parse_args()
    every = list(ask_questions(options))[: options.questions]
    equal: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as place:
        (Path(place) / "other.md").write_text("Nothing of what was asked.")
        settings = Settings.model_validate({"index": {"directory": Path(place) / "index"}})
        with Engine(settings) as engine:
            engine.ingest([Path(place) / "other.md"])
            for answer in every:
                key = (answer.outcome.answer.strategy, answer.mix)
                wrong = find_difference(engine, answer.outcome)
                total[key] += 1
                equal[key] += not wrong
                if wrong:
                    print(f"{answer.dataset} {key}: {answer.outcome.answer.question!r}: {wrong}")
    print(f"| strategy | {' | '.join(MIXES)} |\n|{'---|' * (1 + len(MIXES))}")
    for name in STRATEGIES:
        cells = [f"{equal[name, mix]}/{total[name, mix]}" for mix in MIXES]
        print(f"| {name} | {' | '.join(cells)} |")
    answered = sum(answer.outcome.answer.status == "answered" for answer in every)
    calls = sum(answer.outcome.answer.usage.llm_calls for answer in every)
    print(f"\n{equal.total()} of {total.total()} byte-equal; {answered} answered, {calls} calls")


if __name__ == "__main__":
    main()
