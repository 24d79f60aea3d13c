"""Yes or no, decided from what sentences say to the statement and to its negation.

A cross-reader is better at telling whether a sentence supports or contradicts a claim than at
answering yes or no to a question. So a question is made a statement and its negation (`statement`),
and the sentences that share most words with it are read with both; what the hit as a whole answers
to the question counts beside them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.agents.reader.base import ReadHit
from fathom.models.reading import CrossReader, Reading
from fathom.question.statement import Statement, statement
from fathom.text.content_words import ContentTerms
from fathom.text.language import question_language
from fathom.text.quotable import cut_out, units
from fathom.types import Evidence

_LEAST = 1e-4
_DIGITS = 6
_SENTENCES = 2
"""Sentences of a hit that are read with the statement."""
FACTORS = ("tells", "decides", "words", "denial", "asked", "offset")
"""What the confidence in a verdict depends on, as `Weighed.factors` gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLaw:
    """How sure a verdict is: slopes of its logit, one for each of `FACTORS`.

    Attributes:
        yes: Of a statement that a sentence supports.
        no: Of one that it contradicts.
    """

    yes: tuple[float, ...]
    no: tuple[float, ...]


# Fitted by `training/fit_verdict.py`; the figures are in docs/answers.md.
VERDICTS: Mapping[str, VerdictLaw] = {
    "en": VerdictLaw(
        yes=(0.0, 0.19, 0.0, 0.14, 0.34, -0.69),
        no=(0.0, 0.31, 0.0, 0.17, 0.0, 0.09),
    ),
    "id": VerdictLaw(
        yes=(0.88, 0.02, 0.33, 0.0, 0.0, -0.82),
        no=(0.0, 1.32, 0.0, 0.0, 0.74, -0.04),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What one sentence says to a statement.

    Attributes:
        yes: Whether it supports the statement rather than contradicts it.
        factors: Log-odds of that; log-odds of it over deciding nothing; the share of the
            statement's words that the sentence or its headings hold, 0 to 1; log-odds of the side
            taken over the other one, by the support of statement and negation; log-odds of it as
            the answer to the question itself, by the whole hit; and 1.
        evidence: The sentence.
    """

    yes: bool
    factors: tuple[float, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Yes or no.

    Attributes:
        confidence: Probability that it is right, 0 to 1.
        evidence: The sentence that decides.
    """

    yes: bool
    confidence: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Decides questions for yes or no.

    Attributes:
        sure: From this confidence on a sentence decides.
        laws: By the language of the question.
        terms: The content words of a text.
    """

    pairs: CrossReader
    sure: float = 0.75
    laws: Mapping[str, VerdictLaw] = field(default_factory=lambda: VERDICTS)
    terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def __call__(self, question: str, seen: Sequence[ReadHit]) -> Verdict | None:
        """The surest verdict of the hits that were read.

        `None` where the form of the question is not known, where nothing is sure, or where some
        sentence surely says yes and another one no.
        """
        asked = statement(question)
        if asked is None:
            return None
        found = [each for look in seen for each in self.of(question, asked, look)]
        sure = [each for each in found if each.confidence >= self.sure]
        if len({each.yes for each in sure}) != 1:
            return None
        return max(sure, key=lambda each: each.confidence)

    def of(self, question: str, asked: Statement, look: ReadHit) -> list[Verdict]:
        """What each sentence of a hit that decides at all says; see `weigh`."""
        law = self.laws[question_language(question)]
        return [self._verdict(law, each) for each in self.weigh(asked, look)]

    def weigh(self, asked: Statement, look: ReadHit, *, every: bool = False) -> Iterator[Weighed]:
        """What the sentences of a hit say that share most words with a statement.

        Those that most likely decide nothing are left out, unless `every` one is asked for.
        """
        words = self.terms(asked.says)
        chunk = look.hit.chunk
        spans = [each.span for each in units(chunk)]
        held = [len(words & self.terms(span.cut(chunk.text))) for span in spans]
        best = sorted(range(len(spans)), key=lambda at: (-held[at], at))[:_SENTENCES]
        for span in [spans[at] for at in sorted(best) if held[at]]:
            sentence = cut_out(chunk, span)
            (says,) = self.pairs.session(asked.says, spans=0).read([sentence])
            if not every and says.unrelated >= max(says.supported, says.contradicted):
                continue
            (denies,) = self.pairs.session(asked.denies, spans=0).read([sentence])
            here = self.terms(sentence.context)
            share = len(words & here) / max(1, len(words))
            yes, factors = _factors(says, denies, look.reading, share)
            evidence = Evidence(
                hit=look.hit, span=span, support=max(says.supported, says.contradicted)
            )
            yield Weighed(yes=yes, factors=factors, evidence=evidence)

    def _verdict(self, law: VerdictLaw, found: Weighed) -> Verdict:
        slopes = law.yes if found.yes else law.no
        logit = math.fsum(a * b for a, b in zip(slopes, found.factors, strict=True))
        confidence = round(1 / (1 + math.exp(-logit)), _DIGITS)
        return Verdict(yes=found.yes, confidence=confidence, evidence=found.evidence)


def _factors(
    says: Reading, denies: Reading, asked: Reading, words: float
) -> tuple[bool, tuple[float, ...]]:
    tells = _odds(says.supported, says.contradicted)
    yes = tells >= 0
    decides = _odds(says.supported if yes else says.contradicted, says.unrelated)
    sign = 1 if yes else -1
    denial = sign * _odds(says.supported, denies.supported)
    return yes, (abs(tells), decides, words, denial, sign * _odds(asked.yes, 1 - asked.yes), 1.0)


def _odds(one: float, other: float) -> float:
    return math.log(max(one, _LEAST) / max(other, _LEAST))
