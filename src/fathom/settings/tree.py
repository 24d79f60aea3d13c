"""The tree of all settings with their defaults; `fathom.config` reads their values."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from fathom.registry import ROLES, STRATEGIES
from fathom.settings.papers import PaperName, load_preset
from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import FileTable, Section, SectionT, add_fields, constant
from fathom.settings.serve import ServeSettings

Caution = Literal["cautious", "balanced", "eager"]
MOST_HITS = 100_000
"""The most hits of one search."""


class IndexSettings(Section):
    """The place of the index, and the way it is kept."""

    PAGE: ClassVar[str] = "docs/scale.md"
    # A trace names the revision of the index, which stands for its content.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    directory: Path = Path(".fathom")
    """The folder of the index."""
    url: str = ""
    """`postgresql://USER@HOST/DATABASE?workspace=NAME`; empty for the embedded index."""
    qdrant_key_env: str = ""
    """The variable that holds the API key of the Qdrant cluster behind `+qdrant:` in the URL."""
    durability: Literal["normal", "full"] = "normal"
    """`normal` survives the death of the process, `full` also that of the machine."""
    ann_from_chunks: int = constant(20_000, ge=0)
    """The graph of neighbours is built anew if more chunks than this are outside it."""


class IngestSettings(Section):
    """The way from files to an index."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    batch_documents: int = Field(default=4096, ge=1)
    """The most documents that are stored in one step; a step also ends after two seconds of
    reading."""
    workers: int | str = 1
    """The processes that read files and make vectors: their number, `ray`, or `ray://HOST:PORT`."""
    wait_vectors: bool = False
    """If true, documents are found only once they have their vectors; otherwise by their words
    before."""
    include: tuple[str, ...] = ()
    """Shell patterns; if there are any, files that match none are left out."""
    exclude: tuple[str, ...] = ()
    """Shell patterns; files that match one are left out."""


class ChunkingSettings(Section):
    """The way documents are cut into chunks."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    method: Literal["structure", "characters", "tokens"] = "structure"
    """The method: along the structure of documents, or by a number of characters or tokens."""
    max_tokens: int = Field(default=200, ge=16, le=510)
    """`structure`: the tokens of the largest chunk."""
    size: int = Field(default=1200, ge=16)
    """`characters` and `tokens`: the length of a chunk."""
    overlap: int = Field(default=200, ge=0)
    """`characters` and `tokens`: the length that neighbours share."""


class ModelSettings(Section):
    """The local models."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset(
        {"embedder", "query_encoder", "cross_reader", "runtime"}
    )

    embedder: str = "all-MiniLM-L6-v2-int8"
    """A shipped model, `all-MiniLM-L6-v2-int8` (products of 8 bits: 2.7 times as fast) or
    `all-MiniLM-L6-v2` (fp32), each of which reads the other's indexes: docs/retrieval.md; a folder,
    or the name of a sentence-transformers model of the hub."""
    query_encoder: Literal["same", "rounded"] = "same"
    """The embedder of questions: `same` as that of the texts, or `rounded`: with the embedder of
    texts in fp32 the one with products of 8 bits, which takes half the time: docs/retrieval.md."""
    cross_reader: str = "shipped"
    """`shipped` (the multilingual one), `english`, `multilingual`, or a folder."""
    runtime: Literal["onnxruntime", "openvino"] = "onnxruntime"
    """The runtime of the models; `openvino` needs the extra of that name."""
    threads: int = Field(default=0, ge=0, le=1024)
    """The cores to use; 0, or more than there are, takes all that this process may use."""


class LimitSettings(Section):
    """The limits on parsing one file."""

    PAGE: ClassVar[str] = "docs/scans.md"
    # These settings act on files, long before a question.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    memory_mb: int = Field(default=1024, ge=64, le=1 << 20)
    """The address space of the parser."""
    cpu_s: int = Field(default=20, ge=1, le=86_400)
    """The seconds of processor time."""
    wall_s: float = Field(default=30, gt=0, le=86_400)
    """The seconds by the clock."""
    file_mb: int = Field(default=200, ge=1, le=1 << 20)
    """The size of a file."""
    ocr_pages: int = Field(default=1000, ge=0, le=1 << 20)
    """The most pages of one file whose pictures are read, with the extra `ocr`; 0 for none."""
    ocr_memory_mb: int = constant(3072, ge=512, le=1 << 20)
    """The address space of the process that reads pictures of pages."""
    ocr_cpu_s: int = constant(60, ge=1, le=86_400)
    """The seconds of processor time for each page that is read from its picture."""
    ocr_wall_s: float = constant(300, gt=0, le=86_400)
    """The seconds by the clock for each page that is read from its picture."""


class RetrievalSettings(Section):
    """The way hits are found and fused."""

    PAGE: ClassVar[str] = "docs/retrieval.md"
    k: int = Field(default=10, ge=1, le=MOST_HITS)
    """The number of hits of a search."""
    retriever: RetrieverName = "hybrid"
    """The retriever of a search."""
    embedders: tuple[str, ...] = ()
    """Further embedders beside `models.embedder`, each with vectors of its own: `fathom ingest`
    makes them for the chunks in the index. `multilingual-e5-small` (extra `multilingual`), a folder
    or model of the hub, or `openai:MODEL` at the server of `[embedding]`."""
    embedder_weights: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """One weight for each of them, for questions of any language; empty for 0.4 each."""
    candidates: int = constant(100, ge=1, le=MOST_HITS)
    """The least number of hits that each leg gives to the fusion."""
    fusion: Literal["rrf", "weighted_sum"] = "weighted_sum"
    """`weighted_sum` of min-max scores did better than `rrf` on most sets: docs/retrieval.md."""
    rrf_k: int = constant(60, ge=0)
    """The constant of `rrf`: score = sum of weight / (rrf_k + rank), rank from 1."""
    vector_weight: float = Field(default=0.4, ge=0)
    """The weight of the vectors of `models.embedder` in the fusion."""
    keyword_weight: float = Field(default=0.6, ge=0)
    """The weight of the words in the fusion."""
    foreign_vector_weight: float = constant(0.07, ge=0)
    """The weight in place of `vector_weight`, for a question in a language that the embedder was
    not made for."""
    definitions: int = constant(50, ge=0, le=MOST_HITS)
    """For a question after the meaning of a term, `hybrid` puts first the hits that define it,
    among so many hits; 0 is never."""
    rerank_weight: float = constant(0.6, ge=0, le=1)
    """The weight of the cross-reader in strategies that rerank; 0 reranks nothing."""
    rerank_most: int = constant(24, ge=1, le=MOST_HITS)
    """The most hits that are read in strategies that rerank."""

    @model_validator(mode="after")
    def _check_embedders(self) -> Self:
        if len(set(self.embedders)) < len(self.embedders) or "" in self.embedders:
            raise ValueError("retrieval.embedders must name each embedder once")
        # A weight too few would silently leave an embedder out of the fusion.
        if self.embedder_weights and len(self.embedder_weights) != len(self.embedders):
            raise ValueError(
                "retrieval.embedder_weights must have one number for each of retrieval.embedders"
            )
        return self


class SourceSettings(Section):
    """The documents that decide a conflict."""

    PAGE: ClassVar[str] = "docs/answers.md"
    trusted: tuple[str, ...] = ()
    """Paths of documents that are believed against all others, such as `policies` (a folder) or
    `*/handbook-2025*.pdf`; where they contradict another document, theirs is the answer."""


class EmbeddingSettings(Section):
    """The server of embedders named `openai:MODEL`; any server of that protocol will do."""

    PAGE: ClassVar[str] = "docs/retrieval.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset({"base_url"})

    base_url: str | None = None
    """The address of the server; OpenAI's own by default."""
    key_env: str | None = None
    """The variable that holds its key; by default OPENAI_API_KEY, and with a base_url none."""
    batch: int = constant(64, ge=1, le=2048)
    """The most texts of one request."""
    seconds: float = constant(60.0, gt=0)
    """The longest time of one request."""
    tries: int = constant(4, ge=1)
    """The most requests for one batch."""


class AskSettings(Section):
    """The conditions and the form of an answer."""

    PAGE: ClassVar[str] = "docs/answers.md"
    chunks: int = Field(default=8, ge=1, le=MOST_HITS)
    """The number of best hits that the reader reads."""
    context_tokens: int = Field(default=0, ge=0)
    """The tokens of all chunks that `naive` and `adaptive` read; 0 for no bound."""
    caution: Caution = "balanced"
    """The cost of a wrong answer, which chooses two bounds of the calibrated probability of being
    right: that of an answer, and that of a tentative one, which is shown as not sure."""
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    """The least of the reader's own confidence or of the calibrated probability of being right: if
    both are below it the answer is tentative or an abstention, unless `max_error` decides which
    answers are given."""
    min_probability: float | None = Field(default=None, ge=0, le=1)
    """The least calibrated probability of being right, if there is a calibration, in place of the
    bounds of `caution`: below it the answer is an abstention. None is tentative but
    one that shows which sources disagree. 0 gives every answer, sure or not."""
    max_error: float | None = Field(default=None, gt=0, lt=1)
    """The largest share of answers that may be wrong: an answer that a calibration does not certify
    at this rate is an abstention."""
    clean_question: bool = True
    """If true, questions are read without politeness and typing errors."""
    sentences: int = constant(2, ge=1)
    """The most quotes of an answer."""
    strategy: str = "adaptive"
    """The strategy that answers."""
    paper: PaperName = ""
    """`maf`, `anchor`, `rrf`, `hybrid` or `mao`: this paper's system answers, to the letter. The
    strategy, and all settings and constants that the paper fixes, are then the defaults, and
    settings of your own win over them. `fathom config show --paper NAME` lists them."""
    min_support: float = constant(0.4, ge=0, le=1)
    """Sentences of a language model with less support by their quotes are dropped."""
    seed: int = Field(default=0, ge=0)
    """The seed of everything random."""

    @override
    def to_record(self) -> dict[str, Any]:
        # The values of the preset are recorded, so its name would only make equal runs differ.
        return {key: value for key, value in super().to_record().items() if key != "paper"}


@add_fields(
    {
        role.name: (str, Field(role.choice, description=role.meaning))
        for role in ROLES.values()
        if not role.model_of
    }
)
class RoleSettings(Section):
    """The implementation of each role: `local`, `llm` (the `[llm]` model) or `provider:model`."""


class DomainSettings(Section):
    """The knowledge about the subject of the documents: terms, synonyms, classes of questions."""

    file: str = "generic"
    """A shipped domain (`generic`, `licensing-id`, `finance`), or a TOML file."""


@add_fields({name: (str, constant("")) for role in ROLES.values() for name in role.prompts})
class PromptFiles(FileTable):
    """A folder with prompts of one's own, in place of those that `fathom config prompts` shows."""


class GradingPromptFiles(FileTable):
    """A folder with prompts of one's own for the judges of `fathom eval`."""

    correctness: str = constant("")
    """The prompt of the judge of correctness."""
    conciseness: str = constant("")
    """The prompt of the judge of conciseness."""
    no_hallucination: str = constant("")
    """The prompt of the judge of hallucination."""


class GradingSettings(Section):
    """The judges of `fathom eval`."""

    # A judge grades an answer and never changes it.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    prompts: GradingPromptFiles = Field(default_factory=GradingPromptFiles)
    """A folder with a file NAME.txt for each of the judges' prompts to replace: `correctness`,
    `conciseness`, `no_hallucination`."""


_SURE_ENOUGH = 0.6
"""The confidence from which the local reader is right more often than a model of 1.5 billion
parameters is: docs/runs.md."""
_CERTAIN = 0.95


class LlmSettings(Section):
    """The language model and its use."""

    PAGE: ClassVar[str] = "docs/runs.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset(
        {
            "model",
            "base_url",
            "max_tokens",
            "context_tokens",
            "skip_above_confidence",
            "evidence",
            "evidence_tokens",
            "evidence_share",
            "fallback",
            "prompts",
        }
    )

    model: str = ""
    """`provider:model`; `auto` for one that is on this machine; empty for none."""
    base_url: str | None = None
    """The address of its server; the provider's own by default."""
    key_env: str | None = None
    """The variable that holds its key; the provider's usual one by default."""
    max_tokens: int = Field(default=800, ge=16)
    """The most tokens of a reply, reasoning included."""
    context_tokens: int = Field(default=8192, ge=256)
    """The room for prompt and reply of a `local:` model; a model made for less takes less."""
    threads: int = Field(default=0, ge=0)
    """The threads of a `local:` model; 0 is one for each physical core."""
    cache_prompts: bool = constant(False)
    """If true, a `local:` model reuses all that a prompt shares with the one before, not only its
    fixed beginning. By rounding, a reply may then depend on the prompt before."""
    tries: int = constant(4, ge=1)
    """The most calls for one reply, while time and budget allow."""
    evidence_tokens: int = Field(default=450, ge=50)
    """The likely tokens of evidence that the reader's model is shown: the sentences of the hits
    that bear most on the question, in order, below their titles."""
    evidence_share: float = constant(0.2, ge=0, le=1)
    """The share of the best sentence's score that another one needs to be shown."""
    skip_above_confidence: float | None = Field(default=None, ge=0)
    """The confidence of the local reader from which the model is not called; above 1 it is always
    called. The default is 0.6 for a `local:` model and 0.95 for any other."""
    evidence: Literal["auto", "short", "numbers", "quotes"] = "auto"
    """The reply of the reader's model: `short` is the bare answer and the numbers of its sentences;
    `numbers` is sentences of its own with numbers; `quotes` is such sentences with copied quotes.
    `auto` is the one that did better with the model, if that was measured, else `quotes`."""
    fallback: Literal["local", "abstain"] = "local"
    """The outcome if the model gives nothing that can be verified."""
    prices: Path | None = None
    """A table of prices on top of the shipped one."""
    prompts: PromptFiles = Field(default_factory=PromptFiles)
    """A folder with a file NAME.txt for each prompt to replace, such as `reader.txt`;
    `fathom config prompts` lists the names."""

    def choose_skip_confidence(self, model: str) -> float:
        """Return `skip_above_confidence`, or its default for a model called `provider:model`."""
        if self.skip_above_confidence is not None:
            return self.skip_above_confidence
        return _SURE_ENOUGH if model.startswith("local:") else _CERTAIN


class WebSettings(Section):
    """The web search; off unless a provider is named."""

    PAGE: ClassVar[str] = "docs/web.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset({"provider", "base_url", "results"})

    provider: Literal["", "searxng", "tavily", "brave"] = ""
    """The search engine; empty for none."""
    base_url: str | None = None
    """The address of its server; the provider's own by default. SearXNG has no server of its
    own."""
    key_env: str | None = None
    """The variable that holds its key; the provider's usual one by default."""
    results: int = constant(5, ge=1, le=20)
    """The most hits of one search."""
    seconds: float = constant(10.0, gt=0)
    """The longest time of one search."""
    max_kb: int = constant(512, ge=1)
    """The largest reply; a larger one counts as none."""
    fee_usd: float | None = Field(default=None, ge=0)
    """The price of one search; the provider's list price by default."""


LARGEST_COUNT = 10**12
"""The largest limit of a count, far beyond what a question can take."""


class Limits(Section):
    """The limits of one question; `None` is no limit."""

    # The trace holds the budget itself.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    tokens: int | None = Field(default=60_000, ge=0, le=LARGEST_COUNT)
    """The tokens of language models, prompts and replies together."""
    calls: int | None = Field(default=30, ge=0, le=LARGEST_COUNT)
    """The calls of language models."""
    seconds: float | None = Field(default=120.0, ge=0)
    """The time."""
    cost_usd: float | None = Field(default=None, ge=0)
    """The money for language models and web searches."""
    retrievals: int | None = Field(default=60, ge=0, le=LARGEST_COUNT)
    """The searches of the index and the web."""


class LowLimits(Limits):
    """Limits for two looks and one reply of a language model with a repair."""

    tokens: int | None = Field(default=10_000, ge=0, le=LARGEST_COUNT)
    calls: int | None = Field(default=3, ge=0, le=LARGEST_COUNT)
    seconds: float | None = Field(default=20.0, ge=0)
    retrievals: int | None = Field(default=6, ge=0, le=LARGEST_COUNT)


class HighLimits(Limits):
    """Limits of four times the usual."""

    tokens: int | None = Field(default=240_000, ge=0, le=LARGEST_COUNT)
    calls: int | None = Field(default=120, ge=0, le=LARGEST_COUNT)
    seconds: float | None = Field(default=480.0, ge=0)
    retrievals: int | None = Field(default=240, ge=0, le=LARGEST_COUNT)


class EffortSettings(Section):
    """The three budgets that `--effort` names."""

    PAGE: ClassVar[str] = "docs/runs.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    low: LowLimits = Field(default_factory=LowLimits)
    """The limits of low effort."""
    medium: Limits = Field(default_factory=Limits)
    """The limits of medium effort."""
    high: HighLimits = Field(default_factory=HighLimits)
    """The limits of high effort."""


class BudgetSettings(Limits):
    """The limits of one question, whatever the strategy; an unset one is that of the effort."""

    effort: Literal["low", "medium", "high"] = "medium"
    """The effort that gives the limits that are not set here."""


class TraceSettings(Section):
    """The records of questions and their answers."""

    # The record of an answer cannot change it.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    enabled: bool = True
    """If true, traces are recorded."""
    max_mb: int = Field(default=256, ge=1, le=1 << 20)
    """The size of all traces; beyond it the oldest ones are dropped."""


def list_strategy_fields() -> dict[str, tuple[Any, Any]]:
    """Return the field of each strategy's table, for `add_fields`."""
    kinds = {
        name: resolve_name(entry.section) for name, entry in STRATEGIES.items() if entry.section
    }
    return {name: (kind, Field(default_factory=kind)) for name, kind in kinds.items()}


@add_fields(list_strategy_fields())
class Tables(Section):
    """The tables of all settings."""

    index: IndexSettings = Field(default_factory=IndexSettings)
    ingest: IngestSettings = Field(default_factory=IngestSettings)
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    sources: SourceSettings = Field(default_factory=SourceSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    ask: AskSettings = Field(default_factory=AskSettings)
    roles: RoleSettings = Field(default_factory=RoleSettings)
    domain: DomainSettings = Field(default_factory=DomainSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    grading: GradingSettings = Field(default_factory=GradingSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    effort: EffortSettings = constant(
        default_factory=EffortSettings, advice="set budget.effort and the limits of [budget]"
    )
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    trace: TraceSettings = Field(default_factory=TraceSettings)
    serve: ServeSettings = Field(default_factory=ServeSettings)


class Settings(Tables):
    """All settings of Fathom."""

    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """The tables `[extensions.NAME]` of extensions, which check their own keys."""
    offline: bool = False
    """If true, no socket is opened at all, except the one on 127.0.0.1 to a `local:` model."""

    def get_section(self, kind: type[SectionT]) -> SectionT:
        """Return the table of this class, such as that of a strategy."""
        return next(table for _, table in self if isinstance(table, kind))

    @model_validator(mode="before")
    @classmethod
    def _apply_effort(cls, values: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """Return the values with the effort's limits in place of those that the budget lacks."""
        budget = values.get("budget", {}) if isinstance(values, Mapping) else None
        if not isinstance(budget, Mapping):
            return values
        try:
            # Validated here already, because the budget takes its defaults from this table.
            efforts = EffortSettings.model_validate(values.get("effort", {}))
        except ValidationError:
            return values  # the error names its own key when that table is validated
        limits = getattr(efforts, str(budget.get("effort", "medium")), None)
        effort_limits = limits.model_dump() if isinstance(limits, Limits) else {}
        return {**values, "budget": {**effort_limits, **budget}}

    @model_validator(mode="before")
    @classmethod
    def _apply_paper(cls, values: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """Return the values with those of the paper's preset where none is given."""
        ask = _list_given(values.get("ask")) if isinstance(values, Mapping) else {}
        filled = dict(values) if ask.get("paper") else values
        for key, (value, _) in load_preset(str(ask.get("paper", ""))).items():
            table, _, name = key.partition(".")
            filled[table] = {name: value, **_list_given(filled.get(table))}
        return filled

    @model_validator(mode="after")
    def _check_paper(self) -> Self:
        paper, strategy = self.ask.paper, self.ask.strategy
        if paper and strategy != load_preset(paper)["ask.strategy"].value:
            raise ValueError(
                f"ask.strategy = {strategy!r} is not the system of the paper {paper!r}; leave out "
                "the strategy or ask.paper"
            )
        return self

    def choose_paper(self, paper: str) -> "Settings":
        """Return the settings with the preset of another paper below what was set otherwise.

        Args:
            paper: The name of the paper; empty for none.

        Raises:
            ValidationError: If there is no such paper.
        """
        given = self.model_dump(exclude_unset=True)
        filled = type(self)(ask=AskSettings(paper=self.ask.paper)).model_dump()
        for table, _, name in (key.partition(".") for key in load_preset(self.ask.paper)):
            if given[table].get(name) == filled[table][name]:
                del given[table][name]
        given["ask"] = {**given.get("ask", {}), "paper": paper}
        return type(self).model_validate(given)

    def to_record(self) -> dict[str, Any]:
        """Return the values for a trace: of each section those that can change an answer.

        A section that does not name such keys is recorded whole, so that a new setting is never
        forgotten. The revision of an index stands for the settings that made it, and an extension
        records its own table.
        """
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        records = {k: v.to_record() for k, v in sections.items() if isinstance(v, Section)}
        return {name: values for name, values in records.items() if values}


def _list_given(table: Any) -> Mapping[str, Any]:  # noqa: ANN401 - of values to be validated
    """Return the values that are given in a table; empty for what is no table."""
    if isinstance(table, Section):
        return table.model_dump(exclude_unset=True)
    return table if isinstance(table, Mapping) else {}


# Each is a section, a key, and the value that was in force before the key existed.
_LATER: tuple[tuple[str, str, object], ...] = (
    ("models", "query_encoder", "same"),
    ("anchor", "tau_none", 0.65),
    ("hybrid", "low_confidence", 0.5),
    ("hybrid", "joined", [0.3, 0.7]),
    ("sources", "trusted", []),
)


def drop_later_settings(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded settings without keys that came later and hold the value in force before.

    So calibrations, feedback and records from before these keys still count.
    """
    earlier = {
        name: {key: value for key, value in section.items() if (name, key, value) not in _LATER}
        if isinstance(section, Mapping)
        else section
        for name, section in recorded.items()
    }
    return {name: section for name, section in earlier.items() if section != {}}
