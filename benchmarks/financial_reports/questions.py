"""Questions over the statements of quarterly reports, with their right answers.

`truth.json` holds 326 rows of the statements of twelve reports, as `pdftotext -layout` prints them:
the labels, the reports and the periods of the columns were chosen and typed by hand, and the
package took no part. The wordings of `wordings.json` and the split into halves were fixed before
the statements were first computed over: the reports of one half, by a hash of their names, were
looked at with one half of the wordings; the others are asked about in the other half.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
HALVES = ("looked at", "not looked at")
_SPANS = {"3": ("three months", "quarter"), "6": ("six months",), "9": ("nine months",),
          "12": ("twelve months",)}  # fmt: skip
_SPANS_ID = {"3": "tiga bulan", "6": "enam bulan", "9": "sembilan bulan", "12": "dua belas bulan"}
_MONTHS_ID = ("Januari", "Februari", "Maret", "April", "Mei", "Juni", "Juli", "Agustus",
              "September", "Oktober", "November", "Desember")  # fmt: skip
_PARTS = ("research and development", "selling and administration", "cost of revenue",
          "net income")  # fmt: skip
_MARGINS = {"operating margin": "operating income", "net profit margin": "net income",
            "gross margin": "gross profit"}  # fmt: skip
_LOOKUPS = 3
"""The questions of each report that look up an amount of a period."""


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """A question with its right answer.

    Attributes:
        text: The question.
        kind: The kind of computation, or of reason why there is none.
        report: The report whose statements tell the answer.
        half: The half of the reports and wordings.
        answer: The right value as the statement writes amounts; `None` if there is none.
        cells: The cells that must be cited.
        signed: Whether the sign counts.
    """

    text: str
    kind: str
    report: str
    half: str
    answer: float | None = None
    cells: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True, slots=True)
class _Fact:
    """A row of a statement.

    Attributes:
        measure: The name that questions are made from.
        statement: The statement: income, balance or cash.
        cells: The texts by the period of their column.
    """

    measure: str
    statement: str
    cells: Mapping[str, str]

    def value(self, period: str) -> float:
        """Return the amount of a period."""
        text = self.cells[period]
        amount = float(text.strip("()").replace(",", ""))
        return -amount if text.startswith("(") else amount

    @property
    def periods(self) -> list[str]:
        """The periods with an amount, the latest of each length first."""
        filled = [period for period, text in self.cells.items() if text != "\u2014"]
        return sorted(filled, reverse=True)


@dataclass(frozen=True)
class _Report:
    """A report from which questions are made.

    Attributes:
        name: Its name.
        company: The company.
        facts: The rows of its statements by their measure.
        half: The half to which it belongs.
        wordings: The wordings of the half.
        chance: The source of what is drawn.
    """

    name: str
    company: str
    facts: Mapping[str, _Fact]
    half: str
    wordings: Mapping[str, Any]
    chance: random.Random = field(repr=False)

    def make(self) -> Iterator[ReportQuestion]:
        """Yield the questions."""
        spans = [fact for fact in self.facts.values() if fact.statement != "balance"]
        instants = [fact for fact in self.facts.values() if fact.statement == "balance"]
        for fact in self.chance.sample(spans, _LOOKUPS):
            yield self._look_up(fact, "span")
        for fact in self.chance.sample(instants, 2):
            yield self._look_up(fact, "instant")
        for fact in self._draw(spans, 2):
            yield self._change(fact, "span")
        yield self._change(self._draw(instants, 1)[0], "instant")
        for fact in self._draw([fact for fact in spans if fact.statement == "income"], 2):
            yield self._grow(fact)
        yield from self._make_shares()
        yield from self._make_indonesian()
        yield from self._make_refused()

    def _draw(self, facts: Sequence[_Fact], count: int) -> list[_Fact]:
        """Return rows that have an amount above or below zero in two periods of one length."""
        whole = [
            fact
            for fact in facts
            if len(self._find_pair(fact)) == 2
            and len({fact.value(period) > 0 for period in self._find_pair(fact)}) == 1
            and all(abs(fact.value(period)) > 0 for period in self._find_pair(fact))
        ]
        return self.chance.sample(whole, count)

    def _find_pair(self, fact: _Fact) -> list[str]:
        """Return the latest period and the one of its length before it."""
        first, *others = fact.periods
        length = first.partition(" ")[0] if " " in first else ""
        return [first, *(period for period in others if period.startswith(length))][:2]

    def _name(self, measure: str) -> str:
        names: Sequence[str] = self.wordings["names"][measure]
        return self.chance.choice(names)

    def _word(self, key: str, **names: str) -> str:
        """Return a wording with its names, drawn among those of its key."""
        return self._fill(self.chance.choice(self.wordings[key]), **names)

    def _fill(self, wording: str, **names: str) -> str:
        """Return a wording with its names."""
        filled = wording.format(company=self.company, **names)
        return filled[0].upper() + filled[1:]

    def _describe(self, period: str, before: str = "") -> dict[str, str]:
        """Return the names of a period, and of one before it, for a wording."""
        length, _, day = period.rpartition(" ")
        written = date.fromisoformat(day)
        names = {
            "date": f"{written:%B} {written.day}, {written.year}",
            "date_id": f"{written.day} {_MONTHS_ID[written.month - 1]} {written.year}",
        }
        if length:
            names["span"] = self.chance.choice(_SPANS[length])
            names["span_id"] = _SPANS_ID[length]
        if before:
            names["before"] = self._describe(before)["date"]
        return names

    def _ask(self, text: str, kind: str, answer: float, *cells: str) -> ReportQuestion:
        signed = kind == "growth"
        return ReportQuestion(text, kind, self.name, self.half, answer, cells, signed)

    def _look_up(self, fact: _Fact, form: str) -> ReportQuestion:
        period = self.chance.choice(fact.periods)
        names = self._describe(period)
        text = self._word(f"lookup {form}", measure=self._name(fact.measure), **names)
        return self._ask(text, "lookup", fact.value(period), fact.cells[period])

    def _change(self, fact: _Fact, form: str) -> ReportQuestion:
        last, first = self._find_pair(fact)
        names = self._describe(last, first)
        text = self._word(f"change {form}", measure=self._name(fact.measure), **names)
        answer = fact.value(last) - fact.value(first)
        return self._ask(text, "difference", answer, fact.cells[last], fact.cells[first])

    def _grow(self, fact: _Fact) -> ReportQuestion:
        last, first = self._find_pair(fact)
        names = self._describe(last, first)
        text = self._word("growth span", measure=self._name(fact.measure), **names)
        answer = 100 * (fact.value(last) / fact.value(first) - 1)
        return self._ask(text, "growth", answer, fact.cells[last], fact.cells[first])

    def _make_shares(self) -> Iterator[ReportQuestion]:
        """Yield shares of revenue, ratios, free cash flow and sums of two rows."""
        revenue = self.facts["revenue"]
        period = self.chance.choice(revenue.periods)
        names = self._describe(period)
        text = self._word("share span", **names)
        measure = next(measure for word, measure in _MARGINS.items() if word in text)
        if measure in self.facts:
            yield self._relate(text, "share", 100, self.facts[measure], revenue, period)
        part = self.facts[self.chance.choice([name for name in _PARTS if name in self.facts])]
        text = self._word("share of revenue", measure=self._name(part.measure), **names)
        yield self._relate(text, "share", 100, part, revenue, period)
        assets, debts = self.facts["current assets"], self.facts["current liabilities"]
        period = assets.periods[0]
        text = self._word("ratio", **self._describe(period))
        yield self._relate(text, "ratio", 1, assets, debts, period)
        yield from self._make_sums()

    def _relate(
        self, text: str, kind: str, factor: int, part: _Fact, whole: _Fact, period: str
    ) -> ReportQuestion:
        answer = factor * part.value(period) / whole.value(period)
        return self._ask(text, kind, answer, part.cells[period], whole.cells[period])

    def _make_sums(self) -> Iterator[ReportQuestion]:
        pairs = (
            ("free cash flow", "operating cash flow", "capital expenditure"),
            ("sum span", "research and development", "selling and administration"),
        )
        for key, *measures in pairs:
            if not all(measure in self.facts for measure in measures):
                continue
            first, second = (self.facts[measure] for measure in measures)
            period = self.chance.choice([at for at in first.periods if at in second.periods])
            names = self._describe(period)
            text = self._word(
                key, measure=self._name(measures[0]), other=self._name(measures[1]), **names
            )
            # A payment is written with brackets, so it is subtracted.
            answer = first.value(period) + second.value(period)
            yield self._ask(text, "sum", answer, first.cells[period], second.cells[period])

    def _make_indonesian(self) -> Iterator[ReportQuestion]:
        measures = (
            ("net income", "total assets") if self.half == HALVES[0] else ("revenue", "equity")
        )
        at = self.chance.randrange(2)
        fact = self.facts[measures[at]]
        period = fact.periods[0]
        text = self._fill(self.wordings["indonesian"][at], **self._describe(period))
        yield self._ask(text, "lookup, Indonesian", fact.value(period), fact.cells[period])

    def _make_refused(self) -> Iterator[ReportQuestion]:
        """Yield questions that the statements do not answer."""
        at = self.chance.randrange(2)
        measure = ("net income", "total assets")[at]
        names = self._describe(self.facts["net income"].periods[-1])
        wording = self.wordings["no period"][at]
        text = self._fill(wording, measure=self._name(measure), span="three months")
        yield ReportQuestion(text, "no such period", self.name, self.half)
        text = self._word("no label", date=names["date"])
        yield ReportQuestion(text, "no such label", self.name, self.half)
        income = self.facts["operating income"]
        ends = {period.split()[1] for period in income.periods if not period.startswith("3 ")}
        for end in sorted(ends)[:1]:
            text = self._word(
                "open", measure=self._name("operating income"), date=self._describe(end)["date"]
            )
            yield ReportQuestion(text, "two periods may be meant", self.name, self.half)


def find_half(report: str) -> str:
    """Return the half to which a report belongs."""
    return HALVES[hashlib.sha256(report.encode()).digest()[0] % 2]


def make_questions(seed: int) -> list[ReportQuestion]:
    """Return all questions."""
    truth = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
    wordings = json.loads((FOLDER / "wordings.json").read_text(encoding="utf-8"))
    questions: list[ReportQuestion] = []
    for name, record in truth.items():
        half = find_half(name)
        facts = {
            fact["measure"]: _Fact(fact["measure"], fact["statement"], fact["cells"])
            for fact in record["facts"]
        }
        chance = random.Random(f"{seed} {name}")
        report = _Report(name, record["company"], facts, half, wordings[half], chance)
        questions += report.make()
    return questions
