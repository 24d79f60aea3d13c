"""Stops of BAUG on wrong contexts, and their cost: python benchmarks/wrong_contexts.py.

A planted question asks for another year, entity, unit or place than the text that it was made of
holds: "Who won the US Open in 2017?" over a text of 2018. Names and years are changed in the
question; the unit is changed in the text. Cases come from `samples/wrong-contexts.jsonl` and, made
as this runs, from data sets below SHARED_DATA (default ../shared/data), English and Indonesian.
Each is asked as planted, and as it was before; further questions are asked as they are. All are
answered by the strategy `anchor`, over one index of the documents that they are about and others.

With --made the texts are our own, written by `made_contexts.py` with a seed, and nothing below
SHARED_DATA is read: 120 planted questions, for lists too, each beside texts that look like its
answer.

Two halves, by the hash of the case: the checks of the gate were tuned on "tuned" alone. Stopped is
the share of planted questions that get an answer; lost is the share of those answers which are
right without the gate that the gate withholds or changes for a wrong one.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.made_contexts import MADE_KINDS, SEED, MadeKind, make_texts_and_cases
from experiments.lab.texts import Text, read_texts

from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.jsonable import hash_text
from fathom.question.question import Question
from fathom.settings import Settings
from fathom.text.answer_scores import is_right, strip_markers
from fathom.text.dates import YEAR
from fathom.text.entities import find_names
from fathom.types import Answer, Filter, Span

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
Kind = MadeKind | Literal["none"]
KINDS: tuple[Kind, ...] = MADE_KINDS

NUMBER_OF_EACH: Mapping[str, tuple[str, Mapping[Kind, int]]] = {
    "squad-retrieval": ("en", {"year": 22, "entity": 22, "unit": 18, "place": 18}),
    "facqa-id": ("id", {"year": 20, "entity": 20, "unit": 12, "place": 12}),
    "idk-mrc-retrieval": ("id", {"entity": 12, "place": 4}),
}
"""Language of each data set, and how many cases of each kind are made of it."""
PLAIN = 120
"""Further questions of each data set that are asked as they are."""
OTHERS = 300
"""Further documents of each data set."""

_YEAR = re.compile(rf"\b{YEAR}\b")
_UNITS = {
    r"%|\b(?:percent|per cent|persen)\b": {"en": "tonnes", "id": "ton"},
    r"[$\u00a3\u20ac]\s?(?=\d)|\bRp\.?\s?(?=\d)": {"en": "", "id": ""},
    r"\b(?:dollars?|dolar|rupiah|USD)\b": {"en": "metres", "id": "meter"},
    r"\b(?:square )?(?:kilomet(?:er|re)s?|km|miles?|met(?:er|re)s?|feet|acres|hektar[e]?)\b": {
        "en": "litres",
        "id": "liter",
    },
    r"\b(?:tons?|tonnes|kilograms?|kg|pounds)\b": {"en": "miles", "id": "kilometer"},
    r"\b(?:years?|tahun|days?|hari|hours?|jam|minutes?|menit)\b": {"en": "kilograms", "id": "gram"},
}
"""Units of numbers, and what stands in their place in a text where the unit is wrong."""
_ASKS_UNIT = {
    "en": r"how (?:many|much|long|far|old|tall|big|large)|percent|cost|price",
    "id": r"\bberapa",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question, and the same about another context.

    Attributes:
        kind: What was changed; `none` where nothing was.
        planted: The changed question; as it is where the text was changed.
        instead: The name that was put into it; documents that hold it are hidden from the planted
            question, since they could answer it.
        document: What it was made of.
        changed: The document with another unit; empty where the question was changed.
    """

    id: str
    language: str
    kind: Kind
    text: str
    answers: tuple[str, ...]
    planted: str
    instead: str = ""
    document: str = ""
    changed: str = ""

    @property
    def half(self) -> Literal["tuned", "reported"]:
        """The half of the case."""
        return "tuned" if int(hash_text(self.id), 16) % 2 else "reported"


@dataclass(frozen=True)
class Planter:
    """Makes reproducible cases of a data set."""

    dataset: Dataset
    language: str

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The documents."""
        return {document.id: document for document in read_texts(self.dataset.corpus)}

    @cached_property
    def answered(self) -> tuple[DatasetQuestion, ...]:
        """Its questions with an answer, in random order."""
        return tuple(question for question in self.dataset.sample(judged=True) if question.answers)

    @cached_property
    def places(self) -> frozenset[str]:
        """Names of places: the answers to questions for a place."""
        return frozenset(
            answer.casefold()
            for question in self.answered
            if Question(question.text).answer_type == "place"
            for answer in question.answers
            if 0 < len(answer.split()) < 4 and answer[0].isupper()
        )

    @cached_property
    def names(self) -> list[str]:
        """All names in questions, once each."""
        names = (
            span.cut(question.text)
            for question in self.answered
            for span in find_names(question.text)
        )
        return sorted({" ".join(name.split()) for name in names}, key=hash_text)

    def make_cases(self, counts: Mapping[Kind, int]) -> Iterator[Case]:
        """Yield a number of cases of each kind, each of another document."""
        used: set[str] = set()
        for kind, count in counts.items():
            remaining = count
            for question in self.answered:
                document = self.document(question)
                if not remaining or document.id in used:
                    continue
                case = self.plant_case(question, document, kind)
                if case:
                    used.add(document.id)
                    remaining -= 1
                    yield case
        plain = [question for question in self.answered if self.document(question).id not in used][
            :PLAIN
        ]
        for question in plain:
            yield self._make_case(question, self.document(question), "none", question.text)

    def document(self, question: DatasetQuestion) -> Text:
        """Return the document of a question."""
        return self.texts[min(self.dataset.qrels[question.id])]

    def plant_case(self, question: DatasetQuestion, document: Text, kind: Kind) -> Case | None:
        """Return the case of a question; `None` if none can be made."""
        if kind == "unit":
            return self._plant_unit(question, document)
        if kind == "year":
            other = self._plant_year(question, document)
            return self._make_case(question, document, kind, other) if other else None
        span, instead = self._plant_name(question, document, kind)
        text = f"{question.text[: span.start]}{instead}{question.text[span.end :]}"
        case = self._make_case(question, document, kind, text)
        return replace(case, instead=instead) if instead else None

    def _plant_year(self, question: DatasetQuestion, document: Text) -> str:
        years = _YEAR.findall(question.text)
        if len(years) != 1 or not _holds(document, years[0]):
            return ""
        shift = 1 + int(hash_text(question.id), 16) % 9
        other = str(int(years[0]) + (shift if int(years[0]) < 2010 else -shift))
        return "" if _holds(document, other) else question.text.replace(years[0], other)

    def _plant_name(
        self, question: DatasetQuestion, document: Text, kind: Kind
    ) -> tuple[Span, str]:
        """Return the place of a name in a question, and another name; empty if there is none."""
        for span in find_names(question.text):
            name = span.cut(question.text)
            if span.start == 0 or len(name) < 3 or not _holds(document, name):
                continue
            if (name.casefold() in self.places) != (kind == "place"):
                continue
            other = self._find_other(name, document, kind)
            if other:
                return span, other
        return Span(0, 0), ""

    def _find_other(self, name: str, document: Text, kind: Kind) -> str:
        size = len(name.split())
        return next(
            (
                other
                for other in self.names[int(hash_text(name), 16) % len(self.names) // 2 :]
                if (other.casefold() in self.places) == (kind == "place")
                and len(other) > 3
                and (kind == "place" or len(other.split()) == size)
                and not _shares(document, other)
            ),
            "",
        )

    def _plant_unit(self, question: DatasetQuestion, document: Text) -> Case | None:
        if not re.search(_ASKS_UNIT[self.language], question.text, re.IGNORECASE):
            return None
        for answer in question.answers:
            digits = re.search(r"\d[\d.,]*", answer)
            for pattern, others in _UNITS.items():
                unit = re.compile(pattern, re.IGNORECASE)
                if digits is None or not self._has_unit(answer, digits.group(), unit, document):
                    continue
                body = unit.sub(others[self.language], document.text)
                case = self._make_case(question, document, "unit", question.text)
                return replace(case, changed=body)
        return None

    def _has_unit(self, answer: str, digits: str, unit: re.Pattern[str], document: Text) -> bool:
        """Return whether the answer's number has this unit, in the answer or in the document."""
        at = document.text.find(digits)
        near = document.text[max(0, at - 4) : at + len(digits) + 12] if at >= 0 else ""
        return bool(unit.search(answer) or unit.search(near)) and bool(unit.search(near))

    def _make_case(
        self, question: DatasetQuestion, document: Text, kind: Kind, planted: str
    ) -> Case:
        return Case(
            id=f"{self.dataset.name} {question.id} {kind}",
            language=self.language,
            kind=kind,
            text=question.text,
            answers=question.answers,
            planted=planted,
            document=document.id,
        )


def _holds(document: Text, words: str) -> bool:
    """Return whether all words occur in the document."""
    return all(word in _normalize(document) for word in words.casefold().split())


def _shares(document: Text, words: str) -> bool:
    """Return whether any content word occurs in the document."""
    return any(word in _normalize(document) for word in words.casefold().split() if len(word) > 2)


def _normalize(document: Text) -> str:
    return f"{document.title} {document.text}".casefold()


def read_sample_cases() -> Iterator[Case]:
    """Return the cases of the project's own samples."""
    for line in (ROOT / "samples/wrong-contexts.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Case(
            id=f"samples {row['_id']}",
            language=row["language"],
            kind=row["kind"],
            text=row["text"],
            answers=tuple(row["answers"]),
            planted=row["planted"],
        )


CHANGED = "-changed"
"""At the end of the id of a document with another unit."""


def write_corpus(planters: Sequence[Planter], cases: Sequence[Case], corpus: Path) -> list[Text]:
    """Write the documents of the cases and others as one corpus file."""
    texts: list[Text] = []
    for planter in planters:
        about = {case.document for case in cases}
        others = [text for text in planter.texts.values() if text.id not in about]
        others.sort(key=lambda text: hash_text(text.id))
        texts += [text for text in planter.texts.values() if text.id in about]
        texts += others[:OTHERS]
    documents = {text.id: text for text in texts}
    texts += [
        replace(documents[case.document], id=case.document + CHANGED, text=case.changed)
        for case in cases
        if case.changed
    ]
    with corpus.open("w", encoding="utf-8") as file:
        file.writelines(_serialize_text(text) for text in texts)
    return texts


def _serialize_text(text: Text) -> str:
    return json.dumps({"_id": text.id, "title": text.title, "text": text.text}) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a case; plain questions have no planted context.

    Attributes:
        free: As it was before, without the gate: whether the answer is right.
        gated: The same with the gate.
        stopped: Whether the planted question got an answer.
        stopped_free: Whether its first draft was sure enough to be one, were there no gate.
    """

    case: Case
    free: bool
    gated: bool
    stopped: bool | None = None
    stopped_free: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRunner:
    """Asks with the gate, and without it where that could have given another right answer."""

    gated: Engine
    free: Engine
    changed: Sequence[str]
    texts: Sequence[Text]

    def __call__(self, case: Case) -> Outcome:
        """Return the outcome of a case."""
        hidden = _exclude(hidden_documents + CHANGED for hidden_documents in self.changed)
        gated = _is_right(case, self.gated.ask(case.text, strategy="anchor", filters=hidden))
        free = gated or _is_right(case, self.free.ask(case.text, strategy="anchor", filters=hidden))
        if case.kind == "none":
            return Outcome(case=case, free=free, gated=gated)
        others = [
            hidden_documents + CHANGED
            for hidden_documents in self.changed
            if hidden_documents != case.document
        ]
        planted = _exclude([*others, *self._list_answering(case)])
        run = self.gated.arun(AskRequest.parse(case.planted, strategy="anchor", filters=planted))
        outcome = asyncio.run(run)
        first = next(step for step in outcome.trace.steps if step.agent == "gate")
        return Outcome(
            case=case,
            free=free,
            gated=gated,
            stopped=outcome.answer.status == "answered",
            stopped_free=first.outputs["support"] >= self.gated.settings.ask.min_confidence,
        )

    def _list_answering(self, case: Case) -> list[str]:
        """Return the documents that may answer the planted question."""
        if case.changed:
            return [case.document]
        name = case.instead.casefold()
        return [text.id for text in self.texts if name and name in _normalize(text)]


def _is_right(case: Case, answer: Answer) -> bool:
    short = answer.short_answer or strip_markers(answer.answer)
    return answer.status == "answered" and is_right(short, case.answers)


def _exclude(documents: Iterable[str]) -> list[Filter]:
    return [Filter("document", "!=", document) for document in documents]


def format_table(outcomes: Sequence[Outcome]) -> str:
    """Return for each half the planted questions stopped on, and the right answers lost."""
    lines = [
        "| half | planted | stopped, no gate | stopped | right, no gate | lost |",
        "|---|---|---|---|---|---|",
    ]
    for half in ("tuned", "reported"):
        of_half = [outcome for outcome in outcomes if outcome.case.half == half]
        groups = {
            half: of_half,
            **{f"{half}, {k}": [o for o in of_half if o.case.kind == k] for k in KINDS},
            **{
                f"{half}, {la}": [o for o in of_half if o.case.language == la]
                for la in ("en", "id")
            },
        }
        lines += [_format_row(name, group) for name, group in groups.items()]
    return "\n".join(lines)


def _format_row(name: str, outcomes: Sequence[Outcome]) -> str:
    planted = [outcome for outcome in outcomes if outcome.stopped is not None]
    right = [outcome for outcome in outcomes if outcome.free]
    cells = [
        str(len(planted)),
        _format_share(sum(bool(outcome.stopped_free) for outcome in planted), len(planted)),
        _format_share(sum(bool(outcome.stopped) for outcome in planted), len(planted)),
        str(len(right)),
        _format_share(sum(not outcome.gated for outcome in right), len(right)),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _format_share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})" if whole else ""


def write_made_corpus(corpus: Path, seed: int = SEED) -> tuple[list[Text], list[Case]]:
    """Write the texts of our own as one corpus file, and return them with their cases."""
    texts, made = make_texts_and_cases(seed)
    corpus.write_text("".join(map(_serialize_text, texts)), encoding="utf-8")
    cases = [
        Case(
            id=case.id,
            language=case.language,
            kind=case.kind,
            text=case.text,
            answers=case.answers,
            planted=case.planted,
            document=case.document,
        )
        for case in made
    ]
    return texts, cases


def make_all() -> tuple[list[Planter], list[Case]]:
    """Return all cases and their sources."""
    planters = [
        Planter(load(DATA / name), language) for name, (language, _) in NUMBER_OF_EACH.items()
    ]
    cases = [
        case
        for planter in planters
        for case in planter.make_cases(NUMBER_OF_EACH[planter.dataset.name][1])
    ]
    return planters, [*cases, *read_sample_cases()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, default=Path(".work/wrong-contexts"))
    parser.add_argument("--half", choices=("tuned", "reported"))
    parser.add_argument("--made", action="store_true", help="texts of our own only")
    parser.add_argument("--seed", type=int, default=SEED, help="of the texts of our own")
    options = parser.parse_args()
    options.index.mkdir(parents=True, exist_ok=True)
    corpus = options.index / "corpus.jsonl"
    if options.made:
        texts, cases = write_made_corpus(corpus, options.seed)
    else:
        planters, cases = make_all()
        texts = write_corpus(planters, cases, corpus)
    tree = {"index": {"directory": options.index / "index"}, "trace": {"enabled": False}}
    free = Settings.model_validate({**tree, "anchor": {"gate": False}})
    chosen_cases = [case for case in cases if options.half in {None, case.half}]
    with Engine(Settings.model_validate(tree)) as gated, Engine(free) as ungated:
        gated.ingest([corpus] if options.made else [corpus, ROOT / "samples/corpus"])
        changed = [case.document for case in cases if case.changed]
        asking = CaseRunner(gated=gated, free=ungated, changed=changed, texts=texts)
        print(format_table([_report_error(asking(case)) for case in chosen_cases]))


def _report_error(outcome: Outcome) -> Outcome:
    """Print an error at once, since the rest takes long, and return the outcome."""
    case = outcome.case
    if outcome.stopped:
        print(f"stopped, {case.kind}: {case.planted}", file=sys.stderr, flush=True)
    if outcome.free and not outcome.gated:
        print(f"lost: {case.text}", file=sys.stderr, flush=True)
    return outcome


if __name__ == "__main__":
    main()
