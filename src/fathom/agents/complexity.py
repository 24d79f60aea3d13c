"""The complexity analyser: rates how complex a question is and weighs the retrievers by that."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from fathom.errors import SettingsError
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings.hybrid import HybridSettings
from fathom.settings.section import Share, find_first_fault
from fathom.text.entities import list_names

if TYPE_CHECKING:
    from fathom.assembly import Assembly

ComplexityLevel = Literal["simple", "moderate", "complex"]
LEVELS: tuple[ComplexityLevel, ...] = get_args(ComplexityLevel)
RetrieverWeights = tuple[float, float]
"""The weight of the keyword retriever (BM25) and the weight of the dense retriever."""

WEIGHTS: Mapping[ComplexityLevel, RetrieverWeights] = MappingProxyType(
    {"simple": (0.6, 0.4), "moderate": (0.4, 0.6), "complex": (0.3, 0.7)}
)
"""The retriever weights for each level of complexity; each pair sums to 1."""

_WORD = re.compile(r"\w+(?:['.\-/]\w+)*")
_QUOTED = re.compile(r"\"[^\"]+\"|“[^“”]+”")
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
_QUESTION_WORDS = re.compile(
    r"\b(who|whom|whose|what|which|when|where|why|how|"
    r"siapa(?:kah)?|apa(?:kah)?(?! saja)|apa saja|mana(?:kah)?|kapan(?:kah)?|di ?mana(?:kah)?|"
    r"mengapa|kenapa|bagaimana(?:kah)?|berapa(?:kah)?|seberapa)\b",
    re.IGNORECASE,
)
_IMPERATIVES = (
    "(?:access|activate|add|allow|apply|archive|assign|attach|authenticate|back up|block|book|"
    "build|calculate|call|cancel|change|check|clean|clear|close|collect|compare|compile|compute|"
    "configure|connect|convert|copy|create|debug|delete|deploy|describe|disable|download|email|"
    "enable|encrypt|enter|estimate|explain|export|extract|fetch|file|filter|find|fix|format|get|"
    "give|grant|identify|import|insert|install|integrate|join|launch|limit|link|list|load|locate|"
    "log|make|map|merge|migrate|monitor|mount|move|name|open|order|pair|pay|print|provision|"
    "publish|read|register|remove|rename|renew|repair|replace|report|request|reset|resize|restart|"
    "restore|return|revoke|rotate|route|run|save|scale|schedule|secure|send|set(?: up)?|share|show|"
    "sort|split|start|stop|store|submit|summari[sz]e|switch|sync|test|track|train|transfer|"
    "translate|troubleshoot|turn|uninstall|unlock|update|upgrade|upload|validate|verify|write|"
    "atur|bandingkan|buat|cari|cetak|daftar|daftarkan|ekspor|hapus|hitung|hubungkan|impor|isi|"
    "jelaskan|kirim|kirimkan|lapor|laporkan|pasang|perbarui|pindahkan|sambungkan|sebutkan|siapkan|"
    "simpan|tulis|tuliskan|ubah|unduh|unggah|urus)"
)
_CONNECTIVE = (
    r",?(?<!\s)\s+(?:and|or|then|and then|dan|atau|lalu|kemudian|serta)\s+"
    r"(?:also\s+|juga\s+)?"
)
_SEPARATOR = rf"(?:{_CONNECTIVE}|[,;]\s+)"
_COMPOUND = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Link Azure AD to Outlook and export access logs
        rf"(?:^\W*|\b(?:to|i|we|you|one|can|could|should|must|please|cara|tolong|untuk)\s+)"
        rf"{_IMPERATIVES}\s+\w.{{0,200}}?{_SEPARATOR}{_IMPERATIVES}\s+\w",
        # setting up an Azure VM and linking to SSO
        r"\b(?:for|of|by|to|in|on|about|when|while|before|after|without|with|from|start|stop)\s+"
        rf"\w{{2,}}ing\s+\w.{{0,200}}?{_SEPARATOR}\w{{2,}}ing\s+(?!is\b|are\b|was\b|were\b)\w",
        # mengurus NIB dan melaporkan kegiatan
        rf"\bme\w{{4,}}\s+\w.{{0,200}}?{_SEPARATOR}me\w{{4,}}\s+\w",
        # Who was the first president, and when was he born?
        rf"{_CONNECTIVE}(?:\w+\s+)?{_QUESTION_WORDS.pattern}\s+\w+\s+\w|\?\s+\S+\s+\S+\s+\S.*\?",
    )
)
"""Patterns of two joined instructions or questions, each with an object of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityFeatures:
    """The counts by which a question is rated.

    Attributes:
        entities: The number of different names, quoted texts and numbers.
        clauses: The number of question words (at least 1) and of subordinating words.
        conjunctions: The number of conjunctions.
        length: The number of words.
        wh_words: The number of question words.
        question_marks: The number of question marks.
        intents: 2 if instructions or questions are joined ("link the two and export the logs"),
            else 1.
    """

    entities: int
    clauses: int
    conjunctions: int
    length: int
    wh_words: int
    question_marks: int
    intents: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Complexity:
    """The rating of a question; `weights` are (keyword, dense), and `entities` its names."""

    level: ComplexityLevel
    weights: RetrieverWeights
    features: ComplexityFeatures
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityAnalyser:
    """Rules that rate questions, English and Indonesian (Agentic hybrid RAG, section 3.4).

    Attributes:
        weights: The weights of the retrievers by level.
        joined: The weights for joined instructions or questions; `None` for those of their level.
    """

    weights: Mapping[ComplexityLevel, RetrieverWeights] = field(default_factory=lambda: WEIGHTS)
    joined: RetrieverWeights | None = None

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the analyser from the assembly.

        Raises:
            SettingsError: If `hybrid.weights` names a file that is not there or holds no weights.
        """
        section = assembly.settings.get_section(HybridSettings)
        if section.weights.endswith(".json"):
            return cls(weights=load_weights(section.weights))
        levels = (section.simple, section.moderate, section.complex)
        return cls(weights=dict(zip(LEVELS, levels, strict=True)), joined=section.joined)

    async def analyse(self, question: Question, context: RunContext) -> Complexity:
        """Return the complexity of a question, as one step of the run."""
        with context.step(
            "complexity", agent="complexity", inputs={"question": question.text}
        ) as step:
            complexity = self.rate(question)
            outputs = {
                "features": asdict(complexity.features),
                "entities": list(complexity.entities),
                "weights": list(complexity.weights),
            }
            step.set_outcome(outputs=outputs, verdict=complexity.level)
        return complexity

    def rate(self, question: Question) -> Complexity:
        """Return the complexity of a question, without recording a step."""
        features = count_features(question)
        level = rate_features(features)
        weights = self.weights[level]
        return Complexity(
            level=level,
            weights=(self.joined or weights) if features.intents > 1 else weights,
            features=features,
            entities=list_entities(question),
        )


class _WeightsTable(BaseModel):
    """The file of learned weights."""

    model_config = ConfigDict(extra="forbid")

    weights: dict[ComplexityLevel, tuple[Share, Share]]
    origin: dict[str, Any] = {}


def load_weights(name: str) -> Mapping[ComplexityLevel, RetrieverWeights]:
    """Read the weights that `fathom train weights` wrote.

    Raises:
        SettingsError: If there is no such file, or a level has no weight above 0.
    """
    advice = "`fathom train weights` writes one"
    try:
        table = _WeightsTable.model_validate_json(Path(name).read_bytes())
    except OSError:
        raise SettingsError(f"hybrid.weights = {name!r}: no such file; {advice}") from None
    except ValidationError as error:
        key, _, expected = find_first_fault(error)
        raise SettingsError(f"hybrid.weights = {name!r}: {key}: {expected}; {advice}") from None
    missing = [level for level in LEVELS if not any(table.weights.get(level, ()))]
    if missing:
        raise SettingsError(
            f"hybrid.weights = {name!r} gives {missing[0]} questions no weight; {advice}"
        )
    return table.weights


def count_features(question: Question) -> ComplexityFeatures:
    """Return the counts of a question."""
    wh_words = len(_QUESTION_WORDS.findall(question.text))
    subordinate = len(_SUBORDINATE.findall(question.text))
    return ComplexityFeatures(
        entities=len(list_entities(question)),
        clauses=max(1, wh_words) + subordinate,
        conjunctions=len(_CONJUNCTIONS.findall(question.text)),
        length=len(_WORD.findall(question.text)),
        wh_words=wh_words,
        question_marks=question.text.count("?"),
        intents=2 if any(pattern.search(question.text) for pattern in _COMPOUND) else 1,
    )


def rate_features(features: ComplexityFeatures) -> ComplexityLevel:
    """Return the level: up to 1 point is simple, up to 3 are moderate, more are complex.

    A second intent is complex too: the paper's complex queries are "multi-intent or cross-topic"
    (section 4.2), such as "Link Azure AD to Outlook and export access logs".
    """
    if features.intents > 1:
        return "complex"
    # Every count is bounded, so that no single one makes a question complex.
    points = (
        min(2, max(0, features.entities - 1))
        + min(2, features.clauses - 1)
        + min(2, features.conjunctions)
        + (features.length > 12)
        + (features.length > 24)
        + min(1, max(0, features.question_marks - 1))
    )
    return "simple" if points <= 1 else "moderate" if points <= 3 else "complex"


def list_entities(question: Question) -> tuple[str, ...]:
    """Return the quoted texts, and the names and numbers outside of them, each once, sorted."""
    quoted = _QUOTED.findall(question.text)
    # Names within a quotation belong to the one quoted thing.
    rest = _QUOTED.sub(" ", question.text)
    names = {entity for entity in list_names(rest) if len(entity) > 1}
    numbers = {
        number for number in _NUMBER.findall(rest) if not any(number in entity for entity in names)
    }
    return tuple(sorted({*quoted, *names, *numbers}))
