"""The complexity analyser: how much is asked at once, and how the two legs are to be weighed."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Literal

from fathom.context import RunContext
from fathom.text.entities import texts

ComplexityLevel = Literal["simple", "moderate", "complex"]
LegWeights = tuple[float, float]
"""Of the keyword leg (BM25) and of the dense leg."""

WEIGHTS: Mapping[str, LegWeights] = MappingProxyType(
    {"simple": (0.6, 0.4), "moderate": (0.4, 0.6), "complex": (0.3, 0.7)}
)

_WORD = re.compile(r"\w+(?:['.\-/]\w+)*")
_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”")
_NUMBER = re.compile(r"\b\d[\d.,/:-]*\b")
_CONJUNCTIONS = re.compile(
    r"\b(and|or|but|nor|then|versus|vs|while|whereas|as well as|both|"
    r"dan|atau|tetapi|tapi|namun|serta|lalu|kemudian|sedangkan|sementara|maupun)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(that|because|if|although|though|after|before|since|until|unless|whose|whom|"
    r"yang|karena|jika|bila|apabila|kalau|meskipun|walaupun|setelah|sesudah|sebelum|sejak|"
    r"hingga|agar|supaya|ketika|sehingga)\b",
    re.IGNORECASE,
)
_WH = re.compile(
    r"\b(who|whom|whose|what|which|when|where|why|how|"
    r"siapa(?:kah)?|apa(?:kah)?(?! saja)|apa saja|mana(?:kah)?|kapan(?:kah)?|di ?mana(?:kah)?|"
    r"mengapa|kenapa|bagaimana(?:kah)?|berapa(?:kah)?|seberapa)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is counted in a question.

    Attributes:
        entities: Names, quoted texts and numbers; each once.
        clauses: Those that question words and subordinating words begin, at least 1.
        conjunctions: Words that join.
        length: In words.
        wh_words: Question words.
        question_marks: Question marks.
    """

    entities: int
    clauses: int
    conjunctions: int
    length: int
    wh_words: int
    question_marks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Complexity:
    """What the analyser makes of a question; `weights` are (keyword, dense)."""

    level: ComplexityLevel
    weights: LegWeights
    features: Features


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityAnalyser:
    """Rates questions by rules, English and Indonesian (Agentic hybrid RAG, section 3.4).

    Attributes:
        weights: By level.
    """

    weights: Mapping[str, LegWeights] = field(default_factory=lambda: WEIGHTS)

    async def analyse(self, question: str, context: RunContext) -> Complexity:
        """The complexity of a question, as one step of the run."""
        with context.step("complexity", agent="complexity", inputs={"question": question}) as here:
            found = self.of(question)
            outputs = {"features": asdict(found.features), "weights": list(found.weights)}
            here.done(outputs=outputs, verdict=found.level)
        return found

    def of(self, question: str) -> Complexity:
        """What `analyse` gives, at once."""
        features = features_of(question)
        level = level_of(features)
        return Complexity(level=level, weights=self.weights[level], features=features)


def features_of(question: str) -> Features:
    """What is counted in a question."""
    wh_words = len(_WH.findall(question))
    subordinate = len(_SUBORDINATE.findall(question))
    return Features(
        entities=_entities(question),
        clauses=max(1, wh_words) + subordinate,
        conjunctions=len(_CONJUNCTIONS.findall(question)),
        length=len(_WORD.findall(question)),
        wh_words=wh_words,
        question_marks=question.count("?"),
    )


def level_of(features: Features) -> ComplexityLevel:
    """Up to 1 point is simple, up to 3 moderate, more is complex."""
    points = (
        min(2, max(0, features.entities - 1))
        + min(2, features.clauses - 1)
        + min(2, features.conjunctions)
        + (features.length > 12)
        + (features.length > 24)
        + min(1, max(0, features.question_marks - 1))
    )
    return "simple" if points <= 1 else "moderate" if points <= 3 else "complex"


def _entities(question: str) -> int:
    """Quoted texts, then names and numbers outside of them."""
    quoted = _QUOTED.findall(question)
    rest = _QUOTED.sub(" ", question)
    named = {name for name in texts(rest) if len(name) > 1}
    numbers = {each for each in _NUMBER.findall(rest) if not any(each in name for name in named)}
    return len(set(quoted)) + len(named) + len(numbers)
