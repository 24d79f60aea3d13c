"""The settings: one frozen tree with its defaults; `config` reads their values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from fathom.settings.adaptive import AdaptiveSettings
from fathom.settings.anchor import AnchorSettings
from fathom.settings.hybrid import HybridSettings
from fathom.settings.maf import MafSettings
from fathom.settings.mao import MaoSettings
from fathom.settings.retrievers import Name
from fathom.settings.rrf import RrfSettings
from fathom.settings.section import Section
from fathom.settings.serve import ServeSettings

MOST_HITS = 100_000
"""Of one search."""


class IndexSettings(Section):
    """Where the index lies and how it is kept."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    directory: Path = Path(".fathom")
    url: str = ""
    """`postgresql://USER@HOST/DATABASE?workspace=NAME`; empty for the embedded one."""
    qdrant_key_env: str = ""
    """Variable that holds the API key of the Qdrant cluster behind `+qdrant:` in the URL."""
    durability: Literal["normal", "full"] = "normal"
    """`normal` survives the death of the process, `full` also that of the machine."""
    ann_from_chunks: int = Field(default=20_000, ge=0)
    """More chunks than this outside the graph and the graph of neighbours is built anew."""


class IngestSettings(Section):
    """How files go in."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    batch_documents: int = Field(default=4096, ge=1)
    """So many documents are stored in one step, at most; sooner what was read in two seconds."""
    workers: int | str = 1
    """Who reads files and makes vectors: so many processes, `ray`, or `ray://HOST:PORT`."""
    wait_vectors: bool = False
    """Documents are found only once they have their vectors; else by their words before."""
    include: tuple[str, ...] = ()
    """Shell patterns; where there are any, files that match none are left out."""
    exclude: tuple[str, ...] = ()
    """Shell patterns; files that match one are left out."""


class ChunkingSettings(Section):
    """How documents are cut into chunks."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    method: Literal["structure", "characters", "tokens"] = "structure"
    max_tokens: int = Field(default=200, ge=16, le=510)
    """`structure`: the largest chunk."""
    size: int = Field(default=1200, ge=16)
    """`characters` and `tokens`: the length of a chunk."""
    overlap: int = Field(default=200, ge=0)
    """`characters` and `tokens`: what neighbours share."""


class ModelSettings(Section):
    """The local models."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset(
        {"embedder", "query_encoder", "cross_reader", "runtime"}
    )

    embedder: str = "all-MiniLM-L6-v2"
    """The shipped model, a folder, or the name of a sentence-transformers model of the hub."""
    query_encoder: Literal["same", "rounded"] = "same"
    """What embeds questions: the embedder itself, or the shipped one with products of 8 bits,
    which takes half the time and gives nearly the same vectors: docs/retrieval.md."""
    cross_reader: str = "shipped"
    """`shipped` (the multilingual one), `english`, `multilingual`, or a folder."""
    runtime: Literal["onnxruntime", "openvino"] = "onnxruntime"
    threads: int = Field(default=0, ge=0, le=1024)
    """Cores to use; 0, or more than there are, takes all that this process may use."""


class LimitSettings(Section):
    """What one file may cost while it is parsed."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    memory_mb: int = Field(default=1024, ge=64, le=1 << 20)
    cpu_s: int = Field(default=20, ge=1, le=86_400)
    wall_s: float = Field(default=30, gt=0, le=86_400)
    file_mb: int = Field(default=200, ge=1, le=1 << 20)
    ocr_pages: int = Field(default=1000, ge=0, le=1 << 20)
    """So many pages of one file are read off their pictures, with the extra `ocr`; 0 for none."""
    ocr_memory_mb: int = Field(default=3072, ge=512, le=1 << 20)
    ocr_cpu_s: int = Field(default=60, ge=1, le=86_400)
    """For each page, as `ocr_wall_s`."""
    ocr_wall_s: float = Field(default=300, gt=0, le=86_400)


class RetrievalSettings(Section):
    """How hits are found and fused."""

    k: int = Field(default=10, ge=1, le=MOST_HITS)
    retriever: Name = "hybrid"
    embedders: tuple[str, ...] = ()
    """Further ones beside `models.embedder`, each with vectors of its own: `fathom ingest` makes
    them of the chunks that are there. `multilingual-e5-small` (extra `multilingual`), a folder or
    model of the hub, or `openai:MODEL` at the server of `[embedding]`."""
    embedder_weights: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """One for each of them, in questions of any language; empty for 0.4 each."""
    candidates: int = Field(default=100, ge=1, le=MOST_HITS)
    """How many hits each leg gives to the fusion, at least."""
    fusion: Literal["rrf", "weighted_sum"] = "weighted_sum"
    """`weighted_sum` of min-max scores did better than `rrf` on most sets: docs/retrieval.md."""
    rrf_k: int = Field(default=60, ge=0)
    vector_weight: float = Field(default=0.4, ge=0)
    keyword_weight: float = Field(default=0.6, ge=0)
    foreign_vector_weight: float = Field(default=0.07, ge=0)
    """Instead of `vector_weight`, for a question in a language the embedder was not made for."""
    definitions: int = Field(default=50, ge=0, le=MOST_HITS)
    """Asked what a term means, `hybrid` puts first what says it, among so many hits; 0: never."""
    rerank_weight: float = Field(default=0.6, ge=0, le=1)
    """Of what the cross-reader says, where a strategy reranks; 0 reranks nothing."""
    rerank_most: int = Field(default=24, ge=1, le=MOST_HITS)
    """At most so many hits are read, where a strategy reranks."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.embedders)) < len(self.embedders) or "" in self.embedders:
            raise ValueError("retrieval.embedders must name each embedder once")
        if self.embedder_weights and len(self.embedder_weights) != len(self.embedders):
            raise ValueError(
                "retrieval.embedder_weights must have one number for each of retrieval.embedders"
            )
        return self


class EmbeddingSettings(Section):
    """The server of embedders that are named `openai:MODEL`; any of that protocol will do."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset({"base_url"})

    base_url: str | None = None
    """Where it is; OpenAI's own by default."""
    key_env: str | None = None
    """The variable that holds its key; by default OPENAI_API_KEY, and with a base_url none."""
    batch: int = Field(default=64, ge=1, le=2048)
    """At most so many texts a request."""
    seconds: float = Field(default=60.0, gt=0)
    """The longest one request may take."""
    tries: int = Field(default=4, ge=1)
    """At most so many requests for one batch."""


class AskSettings(Section):
    """When and how an answer is given."""

    chunks: int = Field(default=8, ge=1, le=MOST_HITS)
    """How many of the best hits the reader reads."""
    context_tokens: int = Field(default=0, ge=0)
    """All that the chunks may take that `naive` and `adaptive` read; 0 for no bound."""
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    """Of the reader's own confidence, or of the calibrated probability of being right: where both
    are below it the answer is an abstention, unless `max_error` says which answers are given."""
    min_probability: float = Field(default=0.3, ge=0, le=1)
    """Of the calibrated probability of being right, where there is one: below it the answer is an
    abstention, unless it shows which sources disagree. 0 gives every answer, sure or not."""
    max_error: float | None = Field(default=None, gt=0, lt=1)
    """At most this share of the answers may be wrong: what a calibration does not certify at
    this rate is an abstention."""
    clean_question: bool = True
    """Questions are read without politeness and slips of the fingers."""
    sentences: int = Field(default=2, ge=1)
    """At most so many quotes."""
    strategy: str = "adaptive"
    min_support: float = Field(default=0.4, ge=0, le=1)
    """Sentences of a language model that their quotes support less are dropped."""
    seed: int = Field(default=0, ge=0)


class RoleSettings(Section):
    """How each role is done: `local`, `llm` (the model of `[llm]`), or a `provider:model`."""

    reader: str = "auto"
    """`auto` is `llm` where `llm.model` is given, else `local`."""
    judge: str = "local"
    debater: str = "local"
    aggregator: str = "local"
    rewriter: str = "local"
    decomposer: str = "local"
    hyde: str = "local"
    """The local stand-in is pseudo-relevance feedback (RM3)."""
    reorderer: str = "local"
    summarizer: str = "local"
    planner: str = "local"
    questioner: str = "auto"


class DomainSettings(Section):
    """What is known of the subject of the documents: terms, synonyms, classes of questions."""

    file: str = "generic"
    """A shipped domain (`generic`, `licensing-id`), or a TOML file."""


class PromptSettings(Section):
    """Files with prompts of one's own; empty for those that `fathom config prompts` shows."""

    reader: str = ""
    reader_numbers: str = ""
    judge: str = ""
    debater: str = ""
    aggregator: str = ""
    rewriter: str = ""
    stand_alone: str = ""
    decomposer_serial: str = ""
    decomposer_parallel: str = ""
    hyde: str = ""
    reorderer: str = ""
    selector: str = ""
    summarizer: str = ""
    planner: str = ""
    questioner: str = ""


class GradingSettings(Section):
    """Files with prompts of one's own for the judges of `fathom eval`; empty for those shown."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    correctness: str = ""
    conciseness: str = ""
    no_hallucination: str = ""


class LlmSettings(Section):
    """The language model, and how it is used."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset(
        {
            "model",
            "base_url",
            "max_tokens",
            "context_tokens",
            "skip_above_confidence",
            "fallback",
            "prompts",
        }
    )

    model: str = ""
    """`provider:model`; empty for none."""
    base_url: str | None = None
    """Where its server is; the provider's own by default."""
    key_env: str | None = None
    """The variable that holds its key; the provider's usual one by default."""
    max_tokens: int = Field(default=800, ge=16)
    """At most so many tokens a reply, reasoning included."""
    context_tokens: int = Field(default=8192, ge=256)
    """Room for prompt and reply of a `local:` model; a model made for less takes less."""
    threads: int = Field(default=0, ge=0)
    """Of a `local:` model; 0 is one for each core."""
    cache_prompts: bool = False
    """Whether a `local:` model does not read again what a prompt has in common with the one before:
    sooner done, but by rounding a reply may then depend on what was asked before."""
    tries: int = Field(default=4, ge=1)
    """At most so many calls for one reply, while time and budget allow."""
    skip_above_confidence: float = Field(default=0.95, ge=0)
    """From this confidence of the local reader on the model is not asked; above 1 it always is."""
    evidence: Literal["auto", "numbers", "quotes"] = "auto"
    """How the reader's model names its evidence: by the numbers of sentences, or by copying what
    counts; `auto` is what did better with the model where that was measured, else `quotes`."""
    fallback: Literal["local", "abstain"] = "local"
    """What counts when the model gives nothing that can be verified."""
    prices: Path | None = None
    """A table of prices on top of the shipped one."""
    prompts: PromptSettings = Field(default_factory=PromptSettings)


class WebSettings(Section):
    """The web search; off unless a provider is named."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset({"provider", "base_url", "results"})

    provider: Literal["", "searxng", "tavily", "brave"] = ""
    base_url: str | None = None
    """Where its server is; the provider's own by default. SearXNG has none of its own."""
    key_env: str | None = None
    """The variable that holds its key; the provider's usual one by default."""
    results: int = Field(default=5, ge=1, le=20)
    """At most so many hits of one search."""
    seconds: float = Field(default=10.0, gt=0)
    """The longest one search may take."""
    max_kb: int = Field(default=512, ge=1)
    """A longer reply counts as none."""
    fee_usd: float | None = Field(default=None, ge=0)
    """What one search costs; the provider's list price by default."""


class Limits(Section):
    """What one question may spend; see `Budget`. `None` is no limit."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    tokens: int | None = Field(default=60_000, ge=0)
    calls: int | None = Field(default=30, ge=0)
    seconds: float | None = Field(default=120.0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    retrievals: int | None = Field(default=60, ge=0)


class LowLimits(Limits):
    """Enough for a look, a second one, and one reply of a language model with a repair."""

    tokens: int | None = Field(default=10_000, ge=0)
    calls: int | None = Field(default=3, ge=0)
    seconds: float | None = Field(default=20.0, ge=0)
    retrievals: int | None = Field(default=6, ge=0)


class HighLimits(Limits):
    """Four times what is usual."""

    tokens: int | None = Field(default=240_000, ge=0)
    calls: int | None = Field(default=120, ge=0)
    seconds: float | None = Field(default=480.0, ge=0)
    retrievals: int | None = Field(default=240, ge=0)


class EffortSettings(Section):
    """The three budgets that `--effort` names."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    low: LowLimits = Field(default_factory=LowLimits)
    medium: Limits = Field(default_factory=Limits)
    high: HighLimits = Field(default_factory=HighLimits)


class BudgetSettings(Limits):
    """What one question may spend, however it is answered."""

    effort: Literal["low", "medium", "high"] = "medium"
    """Whose limits of `[effort]` count where none is given here."""


class TraceSettings(Section):
    """The records of what was asked."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    enabled: bool = True
    max_mb: int = Field(default=256, ge=1, le=1 << 20)
    """Beyond it the oldest traces are dropped."""


class Settings(Section):
    """All settings of Fathom."""

    index: IndexSettings = Field(default_factory=IndexSettings)
    ingest: IngestSettings = Field(default_factory=IngestSettings)
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    ask: AskSettings = Field(default_factory=AskSettings)
    roles: RoleSettings = Field(default_factory=RoleSettings)
    domain: DomainSettings = Field(default_factory=DomainSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    grading: GradingSettings = Field(default_factory=GradingSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    effort: EffortSettings = Field(default_factory=EffortSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    trace: TraceSettings = Field(default_factory=TraceSettings)
    serve: ServeSettings = Field(default_factory=ServeSettings)
    maf: MafSettings = Field(default_factory=MafSettings)
    rrf: RrfSettings = Field(default_factory=RrfSettings)
    anchor: AnchorSettings = Field(default_factory=AnchorSettings)
    mao: MaoSettings = Field(default_factory=MaoSettings)
    hybrid: HybridSettings = Field(default_factory=HybridSettings)
    adaptive: AdaptiveSettings = Field(default_factory=AdaptiveSettings)
    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """The tables `[extensions.NAME]` of what other packages add, which know what they hold."""
    offline: bool = False
    """Open no socket, whatever else is asked, but the one on 127.0.0.1 to a `local:` model."""

    @model_validator(mode="before")
    @classmethod
    def _with_effort(cls, given: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """What is validated, the limits of the effort where the budget gives none."""
        budget = given.get("budget", {}) if isinstance(given, Mapping) else None
        if not isinstance(budget, Mapping):
            return given
        try:
            efforts = EffortSettings.model_validate(given.get("effort", {}))
        except ValidationError:
            return given  # told with its own key when the table is validated
        limits = getattr(efforts, str(budget.get("effort", "medium")), None)
        named = limits.model_dump() if isinstance(limits, Limits) else {}
        return {**given, "budget": {**named, **budget}}

    def recorded(self) -> dict[str, Any]:
        """What a trace keeps: of each section the values that can change an answer.

        A section that says nothing of it is kept whole, so that a new setting is never forgotten;
        what made the index is known by its revision, and an extension says what its table holds.
        """
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        kept = {k: v.recorded() for k, v in sections.items() if isinstance(v, Section)}
        return {name: values for name, values in kept.items() if values}


_LATER = (("models", "query_encoder", "same"),)


def as_before(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded, without settings that came later and say what held before them.

    So calibrations, feedback and records that were made before still count.
    """
    return {
        name: {key: value for key, value in part.items() if (name, key, value) not in _LATER}
        if isinstance(part, Mapping)
        else part
        for name, part in recorded.items()
    }
