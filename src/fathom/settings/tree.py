"""The tree of all settings with their defaults; `fathom.config` reads values from their sources."""

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
"""The largest number of hits of one search."""


class IndexSettings(Section):
    """The place of the index, and how it is stored."""

    PAGE: ClassVar[str] = "docs/scale.md"
    # A trace records the revision of the index, which stands for these settings.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    directory: Path = Path(".fathom")
    """The folder of the index."""
    url: str = ""
    """`postgresql://USER@HOST/DATABASE?workspace=NAME`; empty for the embedded index."""
    qdrant_key_env: str = ""
    """The environment variable with the API key of the Qdrant cluster after `+qdrant:` in the
    URL."""
    durability: Literal["normal", "full"] = "normal"
    """`normal` survives a crash of the process, `full` also one of the machine."""
    ann_from_chunks: int = constant(20_000, ge=0)
    """The largest number of chunks outside the graph of neighbours; with more it is built anew."""


class IngestSettings(Section):
    """The way from files to an index."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    batch_documents: int = Field(default=4096, ge=1)
    """The largest number of documents that are stored in one step; a step also ends after two
    seconds of reading."""
    workers: int | str = 1
    """The processes that read files and make vectors: their number, `ray`, or `ray://HOST:PORT`."""
    wait_vectors: bool = False
    """If true, documents are found only after they have vectors; otherwise they are found by their
    words before that."""
    include: tuple[str, ...] = ()
    """Shell patterns of the files to ingest; empty for all files."""
    exclude: tuple[str, ...] = ()
    """Shell patterns of the files to leave out."""


class ChunkingSettings(Section):
    """The cutting of documents into chunks."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    method: Literal["structure", "characters", "tokens"] = "structure"
    """The method: by the structure of documents, or by a number of characters or tokens."""
    max_tokens: int = Field(default=200, ge=16, le=510)
    """`structure`: the largest number of tokens of a chunk."""
    size: int = Field(default=1200, ge=16)
    """`characters` and `tokens`: the length of a chunk, in that unit."""
    overlap: int = Field(default=200, ge=0)
    """`characters` and `tokens`: the length that neighbouring chunks share, in that unit."""


class ModelSettings(Section):
    """The local models."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset(
        {"embedder", "query_encoder", "cross_reader", "runtime"}
    )

    embedder: str = "all-MiniLM-L6-v2-int8"
    """The embedder: a shipped model, `all-MiniLM-L6-v2-int8` (products of 8 bits, 2.7 times as
    fast) or `all-MiniLM-L6-v2` (fp32); a folder; or the name of a sentence-transformers model of
    the hub. Each shipped model reads the other's indexes: docs/retrieval.md."""
    query_encoder: Literal["same", "rounded"] = "same"
    """The embedder of questions: `same` as that of texts, or `rounded`, which uses products of 8
    bits with an fp32 embedder of texts and takes half the time: docs/retrieval.md."""
    cross_reader: str = "shipped"
    """The cross-reader: `shipped` (the multilingual one), `english`, `multilingual`, or a
    folder."""
    runtime: Literal["onnxruntime", "openvino"] = "onnxruntime"
    """The runtime of the models; `openvino` needs the extra of that name."""
    threads: int = Field(default=0, ge=0, le=1024)
    """The number of cores to use; 0, or more than there are, uses all that this process may use."""


class LimitSettings(Section):
    """The limits on parsing one file."""

    PAGE: ClassVar[str] = "docs/scans.md"
    # These settings have their effect during ingestion, before any question.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    memory_mb: int = Field(default=1024, ge=64, le=1 << 20)
    """The address space of the parser, in MiB."""
    cpu_s: int = Field(default=20, ge=1, le=86_400)
    """The processor time, in seconds."""
    wall_s: float = Field(default=30, gt=0, le=86_400)
    """The elapsed time, in seconds."""
    file_mb: int = Field(default=200, ge=1, le=1 << 20)
    """The size of a file, in MiB."""
    ocr_pages: int = Field(default=1000, ge=0, le=1 << 20)
    """The largest number of pages of a file that are read from their pictures, with the extra
    `ocr`; 0 for none."""
    ocr_memory_mb: int = constant(3072, ge=512, le=1 << 20)
    """The address space of the process that reads pictures of pages, in MiB."""
    ocr_cpu_s: int = constant(60, ge=1, le=86_400)
    """The processor time for each page that is read from its picture, in seconds."""
    ocr_wall_s: float = constant(300, gt=0, le=86_400)
    """The elapsed time for each page that is read from its picture, in seconds."""


class RetrievalSettings(Section):
    """The search for hits, and their fusion."""

    PAGE: ClassVar[str] = "docs/retrieval.md"
    k: int = Field(default=10, ge=1, le=MOST_HITS)
    """The number of hits of a search."""
    retriever: RetrieverName = "hybrid"
    """The retriever of a search."""
    embedders: tuple[str, ...] = ()
    """The embedders besides `models.embedder`, each with its own vectors, which `fathom ingest`
    makes for the chunks in the index: `multilingual-e5-small` (extra `multilingual`), a folder or a
    model of the hub, or `openai:MODEL` on the server of `[embedding]`."""
    embedder_weights: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """One weight for each of these embedders, for questions of any language; empty for 0.4 each."""
    candidates: int = constant(100, ge=1, le=MOST_HITS)
    """The smallest number of hits of vectors and of words that are fused."""
    fusion: Literal["rrf", "weighted_sum"] = "weighted_sum"
    """The fusion: `weighted_sum` of min-max scores, which is better on most data sets, or `rrf`:
    docs/retrieval.md."""
    rrf_k: int = constant(60, ge=0)
    """The constant of `rrf`: score = sum of weight / (rrf_k + rank), with ranks from 1."""
    vector_weight: float = Field(default=0.4, ge=0)
    """The weight of the vectors of `models.embedder` in the fusion."""
    keyword_weight: float = Field(default=0.6, ge=0)
    """The weight of the words in the fusion."""
    foreign_vector_weight: float = constant(0.07, ge=0)
    """The weight in place of `vector_weight` for a question in a language that the embedder was not
    made for."""
    definitions: int = constant(50, ge=0, le=MOST_HITS)
    """The number of hits among which `hybrid` looks for definitions, if a question asks for the
    meaning of a term; those that define it come first. 0 means never."""
    rerank_weight: float = constant(0.6, ge=0, le=1)
    """The weight of the cross-reader in strategies that rerank; 0 means no reranking."""
    rerank_most: int = constant(24, ge=1, le=MOST_HITS)
    """The largest number of hits that the cross-reader reranks."""

    @model_validator(mode="after")
    def _check_embedders(self) -> Self:
        """Check that each embedder is named once and that the weights are as many."""
        if len(set(self.embedders)) < len(self.embedders) or "" in self.embedders:
            raise ValueError("retrieval.embedders must name each embedder once")
        # With a missing weight, an embedder would be left out of the fusion without a message.
        if self.embedder_weights and len(self.embedder_weights) != len(self.embedders):
            raise ValueError(
                "retrieval.embedder_weights must have one number for each of retrieval.embedders"
            )
        return self


class SourceSettings(Section):
    """The documents that decide a conflict."""

    PAGE: ClassVar[str] = "docs/answers.md"
    trusted: tuple[str, ...] = ()
    """The paths of documents that are believed against all others, such as `policies` (a folder) or
    `*/handbook-2025*.pdf`; if they contradict another document, the answer is theirs."""


class EmbeddingSettings(Section):
    """The server of embedders named `openai:MODEL`; any server of that protocol can be used."""

    PAGE: ClassVar[str] = "docs/retrieval.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset({"base_url"})

    base_url: str | None = None
    """The address of the server; by default OpenAI's."""
    key_env: str | None = None
    """The environment variable with the key of the server; by default OPENAI_API_KEY, and none if
    there is a base_url."""
    batch: int = constant(64, ge=1, le=2048)
    """The largest number of texts of one request."""
    seconds: float = constant(60.0, gt=0)
    """The longest time of one request, in seconds."""
    tries: int = constant(4, ge=1)
    """The largest number of requests for one batch."""


class AskSettings(Section):
    """The conditions and the form of an answer."""

    PAGE: ClassVar[str] = "docs/answers.md"
    chunks: int = Field(default=8, ge=1, le=MOST_HITS)
    """The number of best hits that the reader reads."""
    context_tokens: int = Field(default=0, ge=0)
    """The largest number of tokens of all chunks that `naive` and `adaptive` read; 0 for no
    limit."""
    caution: Caution = "balanced"
    """The cost of a wrong answer, which sets two bounds of the calibrated probability of being
    right: one for an answer, and one for a tentative answer, which is shown as not sure."""
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    """The lowest confidence of an answer: it is tentative or an abstention if both the reader's own
    confidence and the calibrated probability of being right are lower. With `max_error`, only the
    certificate decides."""
    min_probability: float | None = Field(default=None, ge=0, le=1)
    """The lowest calibrated probability of being right, if there is a calibration, in place of the
    bounds of `caution`: below it the answer is an abstention. No answer is then tentative except
    one that shows which sources disagree. 0 gives every answer, sure or not."""
    max_error: float | None = Field(default=None, gt=0, lt=1)
    """The largest share of answers that may be wrong: an answer that a calibration does not certify
    at this rate is an abstention."""
    clean_question: bool = True
    """If true, politeness and typing errors are removed from questions."""
    sentences: int = constant(2, ge=1)
    """The largest number of quotes of an answer."""
    strategy: str = "adaptive"
    """The strategy that answers."""
    paper: PaperName = ""
    """The paper whose system answers, exactly as described: `maf`, `anchor`, `rrf`, `hybrid` or
    `mao`. The strategy, and all settings and constants that the paper fixes, are then the defaults;
    your own settings replace them. `fathom config show --paper NAME` lists them."""
    min_support: float = constant(0.4, ge=0, le=1)
    """The support by quotes below which sentences of a language model are dropped."""
    seed: int = Field(default=0, ge=0)
    """The seed of all random choices."""

    @override
    def to_record(self) -> dict[str, Any]:
        # The values of the preset are recorded. Its name is not, so that equal runs have equal
        # records.
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
    """A folder with your own prompts, in place of those that `fathom config prompts` shows."""


class GradingPromptFiles(FileTable):
    """A folder with your own prompts for the judges of `fathom eval`."""

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
    """A folder with a file NAME.txt for each prompt of a judge to replace: `correctness`,
    `conciseness`, `no_hallucination`."""


_SURE_ENOUGH = 0.6
"""The confidence from which the local reader is right more often than a model of 1.5 billion
parameters: docs/runs.md."""
_CERTAIN = 0.95
"""The confidence from which a model that is not `local:` is not called."""


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
    """The model: `provider:model`; `auto` for one that is on this machine; empty for none."""
    base_url: str | None = None
    """The address of its server; by default the provider's."""
    key_env: str | None = None
    """The environment variable with its key; by default the provider's usual one."""
    max_tokens: int = Field(default=800, ge=16)
    """The largest number of tokens of a reply, reasoning included."""
    context_tokens: int = Field(default=8192, ge=256)
    """The largest number of tokens of prompt and reply of a `local:` model; a model made for fewer
    takes fewer."""
    threads: int = Field(default=0, ge=0)
    """The number of threads of a `local:` model; 0 for one on each physical core."""
    cache_prompts: bool = constant(False)
    """If true, a `local:` model reuses everything that a prompt shares with the one before, not
    only its fixed beginning. By rounding, a reply may then depend on the prompt before."""
    tries: int = constant(4, ge=1)
    """The largest number of calls for one reply, while time and budget allow."""
    evidence_tokens: int = Field(default=450, ge=50)
    """The estimated number of tokens of evidence that the reader's model is shown: the sentences of
    the hits that are most relevant to the question, in order, below their titles."""
    evidence_share: float = constant(0.2, ge=0, le=1)
    """The lowest score of a sentence that is shown, as a share of the best sentence's."""
    skip_above_confidence: float | None = Field(default=None, ge=0)
    """The confidence of the local reader from which the model is not called; above 1 it is always
    called. The default is 0.6 for a `local:` model and 0.95 for any other."""
    evidence: Literal["auto", "short", "numbers", "quotes"] = "auto"
    """The form of the reply of the reader's model. `short`: the bare answer and the numbers of its
    sentences. `numbers`: sentences in the model's words with numbers. `quotes`: such sentences with
    copied quotes. `auto`: the form that was measured to be better with the model, else `quotes`."""
    fallback: Literal["local", "abstain"] = "local"
    """The outcome if nothing in the model's reply can be verified: the local reader's answer, or an
    abstention."""
    prices: Path | None = None
    """A table of prices that is added to the shipped one."""
    prompts: PromptFiles = Field(default_factory=PromptFiles)
    """A folder with a file NAME.txt for each prompt to replace, such as `reader.txt`;
    `fathom config prompts` lists the names."""

    def choose_skip_confidence(self, model: str) -> float:
        """Return `skip_above_confidence`, or its default for a model named `provider:model`."""
        if self.skip_above_confidence is not None:
            return self.skip_above_confidence
        return _SURE_ENOUGH if model.startswith("local:") else _CERTAIN


class WebSettings(Section):
    """The web search, which is off without a provider."""

    PAGE: ClassVar[str] = "docs/web.md"
    _RECORDED: ClassVar[frozenset[str]] = frozenset({"provider", "base_url", "results"})

    provider: Literal["", "searxng", "tavily", "brave"] = ""
    """The search engine; empty for none."""
    base_url: str | None = None
    """The address of its server; by default the provider's. SearXNG has no default, so name one."""
    key_env: str | None = None
    """The environment variable with its key; by default the provider's usual one."""
    results: int = constant(5, ge=1, le=20)
    """The largest number of hits of one search."""
    seconds: float = constant(10.0, gt=0)
    """The longest time of one search, in seconds."""
    max_kb: int = constant(512, ge=1)
    """The largest size of a reply, in KiB; a larger one is not used."""
    fee_usd: float | None = Field(default=None, ge=0)
    """The price of one search, in USD; by default the provider's list price."""


LARGEST_COUNT = 10**12
"""The largest value of a limit on a count, far more than any question needs."""


class Limits(Section):
    """The limits of one question; `None` is no limit."""

    # A trace records the budget itself.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    tokens: int | None = Field(default=60_000, ge=0, le=LARGEST_COUNT)
    """The tokens of language models, prompts and replies together."""
    calls: int | None = Field(default=30, ge=0, le=LARGEST_COUNT)
    """The calls of language models."""
    seconds: float | None = Field(default=120.0, ge=0)
    """The elapsed time, in seconds."""
    cost_usd: float | None = Field(default=None, ge=0)
    """The cost of language models and web searches, in USD."""
    retrievals: int | None = Field(default=60, ge=0, le=LARGEST_COUNT)
    """The searches of the index and the web."""


class LowLimits(Limits):
    """Limits for two searches and one reply of a language model, with one repair of it."""

    tokens: int | None = Field(default=10_000, ge=0, le=LARGEST_COUNT)
    calls: int | None = Field(default=3, ge=0, le=LARGEST_COUNT)
    seconds: float | None = Field(default=20.0, ge=0)
    retrievals: int | None = Field(default=6, ge=0, le=LARGEST_COUNT)


class HighLimits(Limits):
    """Limits four times as high as those of medium effort."""

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
    """The limits of one question with any strategy; one that is not set is that of the effort."""

    effort: Literal["low", "medium", "high"] = "medium"
    """The effort, which gives the limits that are not set here."""


class TraceSettings(Section):
    """The traces, which are the records of questions and their answers."""

    # Recording an answer does not change it.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    enabled: bool = True
    """If true, traces are recorded."""
    max_mb: int = Field(default=256, ge=1, le=1 << 20)
    """The largest size of all traces, in MiB; beyond it the oldest ones are deleted."""


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
    """If true, no socket is opened, except the one on 127.0.0.1 to a `local:` model."""

    def get_section(self, kind: type[SectionT]) -> SectionT:
        """Return the table of a class, such as that of a strategy's settings."""
        return next(table for _, table in self if isinstance(table, kind))

    @model_validator(mode="before")
    @classmethod
    def _apply_effort(cls, values: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """Return the values with the limits of the effort added where the budget has none."""
        budget = values.get("budget", {}) if isinstance(values, Mapping) else None
        if not isinstance(budget, Mapping):
            return values
        try:
            # Validated early, because the budget has its defaults from this table.
            efforts = EffortSettings.model_validate(values.get("effort", {}))
        except ValidationError:
            return values  # the validation of that table will report the error with its key
        limits = getattr(efforts, str(budget.get("effort", "medium")), None)
        effort_limits = limits.model_dump() if isinstance(limits, Limits) else {}
        return {**values, "budget": {**effort_limits, **budget}}

    @model_validator(mode="before")
    @classmethod
    def _apply_paper(cls, values: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """Return the values with those of the paper's preset added where none is given."""
        ask = _list_given(values.get("ask")) if isinstance(values, Mapping) else {}
        filled = dict(values) if ask.get("paper") else values
        for key, (value, _) in load_preset(str(ask.get("paper", ""))).items():
            table, _, name = key.partition(".")
            filled[table] = {name: value, **_list_given(filled.get(table))}
        return filled

    @model_validator(mode="after")
    def _check_paper(self) -> Self:
        """Check that the strategy is that of the paper."""
        paper, strategy = self.ask.paper, self.ask.strategy
        if paper and strategy != load_preset(paper)["ask.strategy"].value:
            raise ValueError(
                f"ask.strategy = {strategy!r} is not the system of the paper {paper!r}; leave out "
                "the strategy or ask.paper"
            )
        return self

    def choose_paper(self, paper: str) -> "Settings":
        """Return the settings with the preset of another paper in place of the present one.

        Values that were set and differ from the present preset stay.

        Args:
            paper: The name of the paper; empty for none.

        Raises:
            ValidationError: If there is no such paper, or another strategy than the paper's is set.
        """
        given = self.model_dump(exclude_unset=True)
        filled = type(self)(ask=AskSettings(paper=self.ask.paper)).model_dump()
        for table, _, name in (key.partition(".") for key in load_preset(self.ask.paper)):
            if given[table].get(name) == filled[table][name]:
                del given[table][name]
        given["ask"] = {**given.get("ask", {}), "paper": paper}
        return type(self).model_validate(given)

    def to_record(self) -> dict[str, Any]:
        """Return the values for a trace: those of each section that can change an answer.

        A section that does not name such keys is recorded completely, so that no new setting is
        forgotten. The settings that made the index are left out, because its revision stands for
        them, and so are the tables of extensions, which are recorded with their defaults
        (`ExtensionSettings.to_record`).
        """
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        records = {k: v.to_record() for k, v in sections.items() if isinstance(v, Section)}
        return {name: values for name, values in records.items() if values}


def _list_given(table: Any) -> Mapping[str, Any]:  # noqa: ANN401 - of values to be validated
    """Return the values that were set in a table; empty if `table` is no table."""
    if isinstance(table, Section):
        return table.model_dump(exclude_unset=True)
    return table if isinstance(table, Mapping) else {}


# The section and name of each setting that was added later, with the value in force before that.
_LATER: tuple[tuple[str, str, object], ...] = (
    ("models", "query_encoder", "same"),
    ("anchor", "tau_none", 0.65),
    ("hybrid", "low_confidence", 0.5),
    ("hybrid", "joined", [0.3, 0.7]),
    ("sources", "trusted", []),
)


def drop_later_settings(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded settings without those in `_LATER` that have the value in force before.

    Calibrations, feedback and records that are older than these settings can then still be used.
    """
    earlier = {
        name: {key: value for key, value in section.items() if (name, key, value) not in _LATER}
        if isinstance(section, Mapping)
        else section
        for name, section in recorded.items()
    }
    return {name: section for name, section in earlier.items() if section != {}}
