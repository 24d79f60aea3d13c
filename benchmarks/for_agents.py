"""The characters that an agent reads until it sees the sentence that answers its question.

    python -m benchmarks.for_agents FOLDER [FOLDER...] [--index PLACE...] [--questions N] [--gold]

Each question of a sample is answered by one `fathom search`, by `fathom ask --brief` with a search
after it where it refuses, and by a script that stands for an agent with grep: it takes the words of
the question that are no function words, the rarest in the files first, prints the lines that hold
the three rarest with a line around each, then those that hold two of them, then those with one.
Printed is, for each, the share of answerable questions whose gold quotes stand in the first 400,
800, 1,200 and more characters of the output, with an interval, and how many characters all
questions take, refused ones included.

A gold quote stands in an output if all its sentences do, whatever their white space. Where the set
names no quotes, each sentence of a relevant document that holds an accepted answer is one. With
--gold only questions with a gold quote are drawn, N of each set. Several sets are also counted
together; the grep script searches one set at a time, as `fathom search` does.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest
from pathlib import Path
from statistics import fmean

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, DatasetQuestion, find_file, load, read_rows
from fathom.evaluation.harness import prepare_engine
from fathom.evaluation.statistics import bootstrap_interval
from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.retrieval.excerpts import EXCERPT_CHARS, Excerpter, choose_hit_count
from fathom.serving.brief import make_brief
from fathom.serving.cli.output import format_brief, format_excerpts, leave_room
from fathom.text.language import load_stop_words
from fathom.text.sentences import split
from fathom.types import Chunk

LIMITS = (400, 800, 1_200, 2_400, 4_800, 10_000)
WORDS = 3
"""The words of a question that the script looks for."""
_WORD = re.compile(r"[\w.\-]*\w")
_MARKER = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
"""The mark of a list item, which `fathom search` leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the quotes that answer it; none if the documents hold no answer."""

    text: str
    quotes: tuple[str, ...]

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


def read_questions(
    engine: Engine, dataset: Dataset, folder: Path, *, count: int | None, only_gold: bool
) -> list[Asked]:
    """Return a sample of the questions of a set, with their gold quotes.

    Args:
        engine: The engine over the documents of the set.
        dataset: The set.
        folder: The folder of the set.
        count: At most so many.
        only_gold: Whether questions without gold quotes are left out.
    """
    file = find_file(folder, "queries.jsonl", "questions.jsonl")
    quotes = {row["_id"]: row.get("metadata", {}).get("quotes") for _, row in read_rows(file)}
    questions = (
        Asked(
            text=question.text,
            quotes=tuple(quotes[question.id] or find_sentences(engine, dataset, question)),
        )
        for question in dataset.sample()
    )
    return list(islice((asked for asked in questions if asked.quotes or not only_gold), count))


def find_sentences(engine: Engine, dataset: Dataset, question: DatasetQuestion) -> list[str]:
    """Return the sentences of the relevant documents that hold an accepted answer."""
    answers = [re.escape(normalize(answer)) for answer in question.answers]
    if not (answers and question.answerable):
        return []
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(answers)})(?!\w)")
    texts = [engine.documents.get(name).text for name in dataset.qrels.get(question.id, ())]
    sentences = (_MARKER.sub("", span.cut(text)) for text in texts for span in split(text))
    return [sentence for sentence in sentences if pattern.search(normalize(sentence))]


class RememberingReader:
    """A cross-reader that reads each chunk once for a question, however often it is asked."""

    def __init__(self, reader: CrossReader) -> None:
        self._reader = reader
        self._sessions: dict[tuple[str, int], RememberingSession] = {}

    def open_session(self, question: str, *, spans: int = 5) -> "RememberingSession":
        """Return the session of a question."""
        key = question, spans
        if key not in self._sessions:
            session = self._reader.open_session(question, spans=spans)
            self._sessions[key] = RememberingSession(session)
        return self._sessions[key]


class RememberingSession:
    """A session that reads each chunk once."""

    def __init__(self, session: ReadingSession) -> None:
        self._session = session
        self._readings: dict[Chunk, Reading] = {}

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """Return the reading of each chunk."""
        new = list(dict.fromkeys(chunk for chunk in chunks if chunk not in self._readings))
        self._readings.update(zip(new, self._session.read(new), strict=True))
        return [self._readings[chunk] for chunk in chunks]

    def score(self, chunk: Chunk, answer: str) -> float:
        """Return the score of an answer in a chunk."""
        return self._session.score(chunk, answer)


def print_searches(engine: Engine, text: str) -> dict[int, str]:
    """Return what `fathom search` prints, by the characters that it is asked for."""
    shorten = engine.documents.make_place_names().shorten
    pairs = RememberingReader(engine.assembly.cross_reader)
    outputs = {}
    for chars in LIMITS:
        hits = engine.search(text, k=choose_hit_count(chars))
        documents = engine.documents.load(hits)
        excerpter = Excerpter(pairs=pairs, chars=leave_room(chars, hits), shorten=shorten)
        outputs[chars] = format_excerpts(excerpter.make_excerpts(text, hits, documents)) + "\n"
    return outputs


def print_answer(engine: Engine, text: str, search: str) -> str:
    """Return what `fathom ask --brief` prints, and a search after it where it refuses."""
    brief = make_brief(engine, engine.ask(text))
    output = format_brief(brief) + "\n"
    return output if brief.nearest is None else output + search


def find_in(output: str, asked: Asked) -> list[bool]:
    """Return for each limit whether a gold quote stands in so many characters of an output."""
    return [asked.stands_in(output[:limit]) for limit in LIMITS]


def find_in_lines(lines: LineSearch, asked: Asked) -> list[bool]:
    """Return for each limit whether a gold quote stands in so many characters of the script."""
    output = ""
    for line in lines.print_lines(asked.text):
        output += line + "\n"
        if len(output) > LIMITS[-1]:
            break
    return find_in(output, asked)


def format_row(name: str, outcomes: Sequence[Sequence[bool]]) -> str:
    """Return a row of the table: the share of questions at each limit, with its interval."""
    cells = []
    for place in range(len(LIMITS)):
        shares = [float(outcome[place]) for outcome in outcomes]
        low, high = bootstrap_interval(shares)
        cells.append(f"{fmean(shares):.3f} ({low:.2f} to {high:.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def read_texts(engine: Engine) -> list[tuple[str, str]]:
    """Return the name and the text of every document."""
    documents = (engine.documents.get(summary.id) for summary in engine.documents.list())
    return [(Path(document.path).name, document.text) for document in documents]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of some questions.

    Attributes:
        questions: The number of questions.
        rows: For each way of searching the outcome of each answerable question at each limit.
        chars: The characters of `ask --brief`, and of a search where it refuses.
    """

    questions: int
    rows: Mapping[str, Sequence[Sequence[bool]]]
    chars: int

    def __add__(self, other: "Outcomes") -> "Outcomes":
        rows = {name: [*outcomes, *other.rows[name]] for name, outcomes in self.rows.items()}
        return Outcomes(self.questions + other.questions, rows, self.chars + other.chars)


def measure(engine: Engine, questions: Sequence[Asked]) -> Outcomes:
    """Return the outcomes of questions about the documents of an engine."""
    lines = LineSearch(read_texts(engine))
    rows: dict[str, list[list[bool]]] = {"fathom search": [], "fathom ask --brief": [], "grep": []}
    chars = 0
    for asked in questions:
        searches = print_searches(engine, asked.text)
        answer = print_answer(engine, asked.text, searches[EXCERPT_CHARS])
        chars += len(answer)
        if asked.quotes:
            rows["fathom search"].append(
                [asked.stands_in(output[:limit]) for limit, output in searches.items()]
            )
            rows["fathom ask --brief"].append(find_in(answer, asked))
            rows["grep"].append(find_in_lines(lines, asked))
    return Outcomes(len(questions), rows, chars)


def print_outcomes(name: str, outcomes: Outcomes) -> None:
    """Print the table of some outcomes."""
    answerable = len(outcomes.rows["grep"])
    print(f"\n{name}: {answerable} answerable questions of {outcomes.questions}\n")
    print(f"| characters | {' | '.join(map(str, LIMITS))} |")
    print("|" + "---|" * (len(LIMITS) + 1))
    for row, values in outcomes.rows.items():
        print(format_row(row, values))
    print(
        f"\nfathom ask --brief, then a search where it refuses: {outcomes.chars} characters of all "
        "questions",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--index", type=Path, nargs="*", default=[], help="one for each folder")
    parser.add_argument("--questions", type=int, help="of each folder")
    parser.add_argument("--gold", action="store_true", help="draw only questions with gold quotes")
    options = parser.parse_args()
    total = Outcomes(0, {}, 0)
    for folder, place in zip_longest(options.folders, options.index[: len(options.folders)]):
        settings = parse_settings({"index.directory": str(place or Path(".work/for_agents"))})
        dataset = load(folder)
        with prepare_engine(Engine(settings), dataset) as engine:
            questions = read_questions(
                engine, dataset, folder, count=options.questions, only_gold=options.gold
            )
            outcomes = measure(engine, questions)
        print_outcomes(folder.name, outcomes)
        total = outcomes + total if total.questions else outcomes
    if options.folders[1:]:
        print_outcomes("all", total)


if __name__ == "__main__":
    main()
