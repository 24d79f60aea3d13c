"""The characters that an agent reads until it sees the sentence that answers its question.

    python -m benchmarks.for_agents manuals [--index PLACE] [--questions N]

Each question of the set is searched once by `fathom search`, and by a script that stands for an
agent with grep: it takes the words of the question that are no function words, the rarest in the
files first, prints the lines that hold the three rarest with a line around each, then those that
hold two of them, then those with one. Printed is, for each, the share of questions whose gold
quotes stand in the first 400, 800, 1,200 and more characters of the output, with an interval. A
gold quote stands there if all its sentences do, whatever their white space.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.statistics import bootstrap_interval
from fathom.retrieval.excerpts import EXCERPT_HITS
from fathom.serving.cli.output import format_excerpts
from fathom.text.language import load_stop_words
from fathom.text.sentences import split

LIMITS = (400, 800, 1_200, 2_400, 4_800, 10_000)
WORDS = 3
"""The words of a question that the script looks for."""
_WORD = re.compile(r"[\w.\-]*\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the quotes that answer it."""

    text: str
    quotes: Sequence[str]

    def stands_in(self, output: str) -> bool:
        """Return whether one of the quotes stands in an output."""
        shown = normalize(output)
        return any(
            all(normalize(span.cut(quote)) in shown for span in split(quote))
            for quote in self.quotes
        )


def normalize(text: str) -> str:
    """Return a text in small letters with single spaces."""
    return " ".join(text.split()).casefold()


class LineSearch:
    """The script that stands for an agent with grep, over the text of the documents."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        """Read the lines of all documents, given as path and text."""
        self._lines = [
            (path, number, line)
            for path, text in texts
            for number, line in enumerate(text.splitlines(), 1)
        ]
        self._words = [frozenset(list_words(line)) for _, _, line in self._lines]
        self._ignored = load_stop_words("en") | load_stop_words("id")
        self._frequencies = Counter(word for words in self._words for word in words)

    def print_lines(self, question: str) -> Iterator[str]:
        """Yield what the script prints, the lines with all words first."""
        words = {word for word in list_words(question) if word not in self._ignored}
        rare = sorted(
            (word for word in words if self._frequencies[word]),
            key=lambda word: (self._frequencies[word], word),
        )[:WORDS]
        printed: set[int] = set()
        for count in range(len(rare), 0, -1):
            for chosen in combinations(rare, count):
                yield from self._print_matches(frozenset(chosen), printed)

    def _print_matches(self, words: frozenset[str], printed: set[int]) -> Iterator[str]:
        for place, line_words in enumerate(self._words):
            if not words <= line_words:
                continue
            for near in range(max(place - 1, 0), min(place + 2, len(self._lines))):
                path, number, line = self._lines[near]
                if near not in printed and path == self._lines[place][0]:
                    printed.add(near)
                    yield f"{path}:{number}:{line}"


def list_words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return [word.casefold() for word in _WORD.findall(text)]


def read_questions(folder: Path) -> list[Asked]:
    """Return the answerable questions of a set that have gold quotes."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        Asked(text=row["text"], quotes=row["metadata"]["quotes"])
        for row in rows
        if row["metadata"].get("quotes")
    ]


def find_in_search(engine: Engine, asked: Asked) -> list[bool]:
    """Return for each limit whether a gold quote stands in so many characters of a search."""
    hits = engine.search(asked.text, k=EXCERPT_HITS)
    return [
        asked.stands_in(format_excerpts(engine.excerpt(asked.text, hits, chars=limit))[:limit])
        for limit in LIMITS
    ]


def find_in_lines(lines: LineSearch, asked: Asked) -> list[bool]:
    """Return for each limit whether a gold quote stands in so many characters of the script."""
    output = ""
    for line in lines.print_lines(asked.text):
        output += line + "\n"
        if len(output) > LIMITS[-1]:
            break
    return [asked.stands_in(output[:limit]) for limit in LIMITS]


def format_row(name: str, outcomes: Sequence[Sequence[bool]]) -> str:
    """Return a row of the table: the share of questions at each limit, with its interval."""
    cells = []
    for place in range(len(LIMITS)):
        shares = [float(outcome[place]) for outcome in outcomes]
        low, high = bootstrap_interval(shares)
        cells.append(f"{fmean(shares):.3f} ({low:.2f} to {high:.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", type=Path, default=Path(".work/for_agents"))
    parser.add_argument("--questions", type=int)
    options = parser.parse_args()
    questions = read_questions(options.folder)[: options.questions]
    settings = parse_settings({"index.directory": str(options.index)})
    with prepare_engine(Engine(settings), load(options.folder)) as engine:
        texts = []
        for summary in engine.documents.list():
            document = engine.documents.get(summary.id)
            texts.append((Path(document.path).name, document.text))
        lines = LineSearch(texts)
        searched = [find_in_search(engine, asked) for asked in questions]
    grepped = [find_in_lines(lines, asked) for asked in questions]
    print(f"{len(questions)} questions")
    print(f"| characters | {' | '.join(map(str, LIMITS))} |")
    print("|" + "---|" * (len(LIMITS) + 1))
    print(format_row("fathom search", searched))
    print(format_row("grep", grepped))


if __name__ == "__main__":
    main()
