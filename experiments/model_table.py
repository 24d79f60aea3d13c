"""The table of language models in docs/strategies: python experiments/model_table.py.

Every strategy answers a seeded sample of each data set below SHARED_DATA (default ../shared/data)
three times: with local minds, with a language model as reader, and with one in every role. The
model is the extractive stand-in of `experiments/extractive.py` behind a real socket. Each cell
holds a figure for each of the three; "x naive" are the tokens beside those of `naive`.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.extractive import ExtractiveModel
from experiments.mixes import MIXES, sections
from tests.scripted_server import Extractive, served

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, Question, load
from fathom.evaluation.records import Record, Records
from fathom.evaluation.report import row_of
from fathom.evaluation.runner import record_strategy
from fathom.serving.asked import asker
from fathom.settings import Settings
from fathom.strategies.base import STRATEGIES

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
SETS = ("squad-retrieval", "hotpotqa-200", "idk-mrc-retrieval")
MEASURES = ("F1", "abstained", "wrong-on-answerable")
Kept = Mapping[tuple[str, str], Records]
"""The records of each strategy and mix."""


def measured(
    dataset: Dataset,
    questions: Sequence[Question],
    strategies: Sequence[str],
    engines: Mapping[str, Engine],
) -> Kept:
    """What came of each strategy and mix; question by question, as pairs are remembered."""
    kept = {(name, mix): Records() for name in strategies for mix in engines}
    for question in questions:
        for (name, mix), records in kept.items():
            record_strategy(name, dataset, [question], asker(engines[mix], name), records)
    return kept


def engines_over(index: Path, base: Engine, url: str) -> dict[str, Engine]:
    """An engine for each mix, with the local models of `base`."""
    tree = {"index": {"directory": index}, "trace": {"enabled": False}}
    return {
        mix: Engine(
            Settings.model_validate({**tree, **sections(mix, url)}),
            embedder=base.embedder,
            cross_reader=base.parts.cross_reader,
        )
        for mix in MIXES
    }


def lines(dataset: str, kept: Kept) -> list[str]:
    """One line of the table for each strategy; in its cells, one figure for each mix."""
    mixes = list(dict.fromkeys(mix for _, mix in kept))
    found = []
    for name in dict.fromkeys(name for name, _ in kept):
        columns = [
            _figures(_of(kept, name, mix), _tokens(_of(kept, "naive", mix))) for mix in mixes
        ]
        cells = [" / ".join(each) for each in zip(*columns, strict=True)]
        found.append(f"| {' | '.join([dataset, name, *cells])} |")
    return found


def _of(kept: Kept, name: str, mix: str) -> list[Record]:
    return list(kept[name, mix].known.values()) if (name, mix) in kept else []


def _figures(records: Sequence[Record], naive: float) -> list[str]:
    row, tokens = row_of(records), _tokens(records)
    measures = [f"{row.measures[name]:.2f}" if name in row.measures else "-" for name in MEASURES]
    calls = fmean(record.usage["llm_calls"] or 0 for record in records)
    ratio = f"{tokens / naive:.2f}" if naive else "-"
    return [*measures, f"{calls:.1f}", f"{tokens:.0f}", ratio]


def _tokens(records: Sequence[Record]) -> float:
    if not records:
        return 0.0
    usages = [record.usage for record in records]
    return fmean((u["prompt_tokens"] or 0) + (u["completion_tokens"] or 0) for u in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), help="by default all")
    parser.add_argument("--minds", nargs="*", default=list(MIXES))
    parser.add_argument("--queries", type=int, default=25, help="of each data set")
    parser.add_argument("--indexes", type=Path, default=Path(".work"), help="an index per set")
    options = parser.parse_args()
    head = ["data set", "strategy", *MEASURES, "calls", "tokens", "x naive"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    base = Engine()
    with served(Extractive(ExtractiveModel(base.parts.cross_reader))) as server:
        for name in options.sets:
            dataset = load(DATA / name)
            every = engines_over(options.indexes / name, base, server.base_url)
            engines = {mix: every[mix] for mix in options.minds}
            with ExitStack() as stack:
                for engine in engines.values():
                    stack.enter_context(engine)
                questions = dataset.sample(options.queries)
                kept = measured(dataset, questions, options.strategies, engines)
            print("\n".join(lines(name, kept)), flush=True)


if __name__ == "__main__":
    main()
