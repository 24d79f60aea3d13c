"""Yes-or-no decisions: does a sentence support the question's statement or its negation?

The cross-reader judges better whether a sentence supports or contradicts a claim than whether the
answer to a question is yes or no. A question is therefore turned into a statement and its negation
(`question.statement`), and the sentences that share most words with the statement are read with
both. The yes-or-no score of the whole hit is a factor too. For a flag such as `Has kids: FALSE` the
value decides, because the cross-reader reads the words and ignores the value.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.agents.reader.base import ReadHit
from fathom.models.reading import CrossReader, Reading
from fathom.question.question import Question
from fathom.question.statement import Statement
from fathom.text.content_words import ContentTerms
from fathom.text.flags import list_flags
from fathom.text.quotable import extract_chunk, list_units
from fathom.types import DIGITS, Evidence

_LEAST = 1e-4
"""The lower bound of probabilities before a logarithm is taken."""
_SENTENCES = 2
"""The largest number of sentences of a hit that are read with the statement."""
_FLAG_CONFIDENCE = 0.9
"""The confidence in a flag whose chunk and headings contain all words of the question."""
_LEAST_SHARE = 0.5
"""The lowest share of a flag's key words that the question must contain."""
_NEGATION = re.compile(r"\b(?:not|cannot|never|tidak|bukan|belum)\b|n['\u2019]t\b", re.IGNORECASE)
_ASKING = re.compile(r"^\W*(?:apa|\w{2,}kah)\b", re.IGNORECASE)
_NEGATIVE = re.compile(
    r"\b(?:off|disabled|false|none|without|inactive|forbidden|prohibited|nonaktif|mati|tanpa"
    r"|dilarang)\b",
    re.IGNORECASE,
)
"""Words of a question that a negative value confirms: "Is duplex off?" and `Duplex: off`."""
FACTORS = ("tells", "decides", "words", "denial", "asked", "offset")
"""The names of the factors in `SentenceStance.factors`, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLaw:
    """A logistic law of the confidence in a verdict, with one slope for each of `FACTORS`.

    Attributes:
        yes: The slopes for a statement that a sentence supports.
        no: The slopes for a statement that a sentence contradicts.
    """

    yes: tuple[float, ...]
    no: tuple[float, ...]


# `training/fit_verdict.py` fits these laws; the figures are in docs/answers.md.
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
class SentenceStance:
    """The stance of one sentence towards a statement.

    Attributes:
        yes: Whether the sentence supports the statement rather than contradicts it.
        factors: Six numbers for the side taken, larger for surer. `tells`: log-odds of support over
            contradiction. `decides`: log-odds over being unrelated. `words`: share of the
            statement's words in the sentence or its headings, in [0, 1]. `denial`: log-odds of the
            statement's support over the negation's. `asked`: log-odds of this answer by the whole
            hit. `offset`: 1.
        evidence: The sentence.
    """

    yes: bool
    factors: tuple[float, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict of yes or no.

    Attributes:
        confidence: The probability that the verdict is right, in [0, 1].
        evidence: The sentence that decides.
    """

    yes: bool
    confidence: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoJudge:
    """A judge of yes-or-no questions.

    Attributes:
        sure: The lowest confidence at which a sentence decides.
        near: The question stays undecided if an opposite verdict has a confidence of at least
            `sure` - `near`.
        laws: The laws of confidence by the language of the question.
        extract_terms: A function that returns the content words of a text.
    """

    pairs: CrossReader
    sure: float = 0.6
    near: float = 0.1
    laws: Mapping[str, VerdictLaw] = field(default_factory=lambda: VERDICTS)
    extract_terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def __call__(self, question: Question, read_hits: Sequence[ReadHit]) -> Verdict | None:
        """Return the verdict with the highest confidence over all hits; `None` if undecided.

        If the question cannot be turned into a statement, only flags decide.
        """
        return self.choose(
            [
                verdict
                for read_hit in read_hits
                for verdict in self.judge_sentences(question, read_hit)
            ]
        )

    def choose(self, verdicts: Sequence[Verdict]) -> Verdict | None:
        """Return the surest verdict; `None` if it is not sure, or if an opposite one is near."""
        floor = self.sure - self.near
        likely = [verdict for verdict in verdicts if verdict.confidence >= floor]
        best = max(likely, key=lambda verdict: verdict.confidence, default=None)
        is_disputed = len({verdict.yes for verdict in likely}) > 1
        return None if best is None or best.confidence < self.sure or is_disputed else best

    def judge_sentences(self, question: Question, read_hit: ReadHit) -> list[Verdict]:
        """Return the verdict of each deciding sentence of a hit; flags come first."""
        law, parsed = self.laws[question.language], question.statement
        flags = self._judge_flags(question, read_hit)
        flagged = {flag.evidence.span for flag in flags}
        sentences = (
            self._make_verdict(law, stance)
            for stance in (self.weigh_sentences(parsed, read_hit) if parsed else ())
        )
        return [*flags, *(verdict for verdict in sentences if verdict.evidence.span not in flagged)]

    def _judge_flags(self, question: Question, read_hit: ReadHit) -> list[Verdict]:
        """Return the verdicts of the flags of a hit whose keys match the question best.

        The confidence is `_FLAG_CONFIDENCE` times the share of the question's words in the chunk. A
        question with a negation has no verdicts.
        """
        if _NEGATION.search(question.text):
            return []
        chunk, confirms_denial = read_hit.hit.chunk, bool(_NEGATIVE.search(question.text))
        words = self.extract_terms(_NEGATIVE.sub(" ", _ASKING.sub("", question.text)))
        flags = [
            (self._compute_share(flag.key, words), flag, unit.span)
            for unit in list_units(chunk)
            for flag in list_flags(unit.span.cut(chunk.text))
        ]
        nearest = max((share for share, _, _ in flags), default=0.0)
        held = len(words & self.extract_terms(chunk.context)) / max(1, len(words))
        return [
            Verdict(
                yes=flag.yes != confirms_denial,
                confidence=round(_FLAG_CONFIDENCE * held, DIGITS),
                evidence=Evidence(hit=read_hit.hit, span=span, support=round(held, DIGITS)),
            )
            for share, flag, span in flags
            if share == nearest >= _LEAST_SHARE
        ]

    def _compute_share(self, key: str, words: frozenset[str]) -> float:
        """Return the share of a key's content words that are among `words`; 0 without any."""
        terms = self.extract_terms(key)
        return len(terms & words) / max(1, len(terms))

    def weigh_sentences(
        self, parsed: Statement, read_hit: ReadHit, *, every: bool = False
    ) -> Iterator[SentenceStance]:
        """Yield the stances of the sentences that share most words with a statement.

        At most `_SENTENCES` of a hit are read. Sentences that are most likely unrelated are left
        out, unless `every` is true (used in training).
        """
        words = self.extract_terms(parsed.says)
        chunk = read_hit.hit.chunk
        spans = [unit.span for unit in list_units(chunk)]
        shared = [len(words & self.extract_terms(span.cut(chunk.text))) for span in spans]
        best_places = sorted(range(len(spans)), key=lambda at: (-shared[at], at))[:_SENTENCES]
        # In reading order, whatever their rank; a sentence without shared words is about something
        # else.
        for span in [spans[at] for at in sorted(best_places) if shared[at]]:
            # With the headings of its chunk, which often name what the sentence is about.
            sentence = extract_chunk(chunk, span)
            (says,) = self.pairs.open_session(parsed.says, spans=0).read([sentence])
            if not every and says.unrelated >= max(says.supported, says.contradicted):
                continue
            (denies,) = self.pairs.open_session(parsed.denies, spans=0).read([sentence])
            sentence_terms = self.extract_terms(sentence.context)
            share = len(words & sentence_terms) / max(1, len(words))
            yes, factors = _compute_factors(says, denies, read_hit.reading, share)
            evidence = Evidence(
                hit=read_hit.hit, span=span, support=max(says.supported, says.contradicted)
            )
            yield SentenceStance(yes=yes, factors=factors, evidence=evidence)

    def _make_verdict(self, law: VerdictLaw, stance: SentenceStance) -> Verdict:
        """Return the verdict of a sentence by the law."""
        slopes = law.yes if stance.yes else law.no
        logit = math.fsum(
            slope * factor for slope, factor in zip(slopes, stance.factors, strict=True)
        )
        confidence = round(1 / (1 + math.exp(-logit)), DIGITS)
        return Verdict(yes=stance.yes, confidence=confidence, evidence=stance.evidence)


def _compute_factors(
    says: Reading, denies: Reading, asked: Reading, words: float
) -> tuple[bool, tuple[float, ...]]:
    """Return the side that a sentence takes, and the six factors for that side."""
    tells = _compute_log_odds(says.supported, says.contradicted)
    # Signs are chosen for the side taken, so that a larger factor always means surer.
    yes = tells >= 0
    decides = _compute_log_odds(says.supported if yes else says.contradicted, says.unrelated)
    sign = 1 if yes else -1
    denial = sign * _compute_log_odds(says.supported, denies.supported)
    return yes, (
        abs(tells),
        decides,
        words,
        denial,
        sign * _compute_log_odds(asked.yes, 1 - asked.yes),
        1.0,
    )


def _compute_log_odds(one: float, other: float) -> float:
    """Return the logarithm of the odds of one probability over another."""
    return math.log(max(one, _LEAST) / max(other, _LEAST))
