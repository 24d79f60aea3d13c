"""Agreement of engines: python -m benchmarks.engines_agree --index DIR --dataset FOLDER.

Copies an embedded index, makes its words anew (indexes of older versions count otherwise), copies
it with what `fathom copy` does to --engine (`postgresql`, or `qdrant` behind it), and asks the same
questions of both. The servers are those of the tests, or those of --to URL, where the workspace
`agree` must be empty. Prints one JSON object: of how many questions the lists of hits by words,
by vectors and of both fused are the same, and of how many the whole answer with its citations;
the first questions that differ are named.
"""

import argparse
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.engines import start_server

from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.index.copying import copy_index
from fathom.index.engines import locate_index, switch_workspace
from fathom.settings import Settings

LISTS = ("keyword", "vector", "hybrid")


def compare_engines(
    first: Engine, other: Engine, questions: Sequence[str], k: int
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return how often both engines agree, and where they do not."""
    same: dict[str, int] = dict.fromkeys((*LISTS, "answer"), 0)
    differ: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        for name in (*LISTS, "answer"):
            outputs = [read_output(engine, question, name, k) for engine in (first, other)]
            if outputs[0] == outputs[1]:
                same[name] += 1
            else:
                differ[name].append(question)
    return same, differ


def read_output(engine: Engine, question: str, name: str, k: int) -> object:
    """Return the hits or the answer of an engine, without scores, whose last digits may differ."""
    if name != "answer":
        return [hit.chunk.id for hit in engine.search(question, k=k, retriever=name)]
    answer = engine.ask(question)
    cited = [
        (citation.document, citation.start, citation.end, citation.quote)
        for citation in answer.citations
    ]
    return answer.status, answer.stop_reason, answer.answer, answer.short_answer, cited


def make_settings(directory: Path, url: str) -> Settings:
    """Return the settings of an engine over an index, independent of the user's."""
    return Settings.model_validate({"index": {"url": url, "directory": directory}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, required=True, help="an embedded index; not changed")
    parser.add_argument("--dataset", type=Path, required=True, help="a folder with questions")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--engine", default="postgresql", choices=("postgresql", "qdrant"))
    parser.add_argument("--to", default="", help="postgresql://...; by default servers of its own")
    parser.add_argument("-k", type=int, default=10)
    arguments = parser.parse_args()
    questions = [
        question.text for question in load(arguments.dataset).questions[: arguments.questions]
    ]
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        copied, side = Path(place) / "index", Path(place) / "side"
        url = switch_workspace(
            arguments.to or start_server(arguments.engine, Path(place), stack), "agree"
        )
        shutil.copytree(arguments.index, copied)
        index = locate_index("", copied)
        index.verify(fix=True)
        with index.open_reader() as source:
            identity = source.status().identity
            with locate_index(url, side).open_writer(identity) as target:
                chunks = copy_index(source, target).chunks
        one = stack.enter_context(Engine(make_settings(copied, "")))
        other = stack.enter_context(Engine(make_settings(side, url)))
        same, differ = compare_engines(one, other, questions, arguments.k)
    figures = {"chunks": chunks, "questions": len(questions), "same": same}
    print(json.dumps({**figures, "differ": {name: some[:5] for name, some in differ.items()}}))


if __name__ == "__main__":
    main()
