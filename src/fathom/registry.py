"""Fathom's own roles, strategies, retrievers and formats.

One entry declares each of them completely, and nothing is imported before it is used. Other
packages add theirs by entry points (docs/extending.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:  # the types of the agents; nothing is imported before it is used
    from fathom.agents.debate.aggregator import Aggregator
    from fathom.agents.debate.debater import Debater
    from fathom.agents.decomposer import Decomposer
    from fathom.agents.hyde import Hypothesis
    from fathom.agents.judge import Judge
    from fathom.agents.questioner import LLMQuestioner
    from fathom.agents.reader.base import Reader
    from fathom.agents.reorderer import Reorderer
    from fathom.agents.rewriter import Rewriter
    from fathom.agents.selector import Selector
    from fathom.agents.summarizer import Summarizer
    from fathom.planner.workflows import Planner

AgentT = TypeVar("AgentT")


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """A class or function with a name, which is imported when it is used.

    Attributes:
        name: The name, which no other entry of its kind has.
        target: `module:attribute`.
    """

    name: str
    target: str

    def load(self) -> Any:  # noqa: ANN401 - a class or a function
        """Import the target."""
        return resolve_name(self.target)

    def make(self, *components: object) -> Any:  # noqa: ANN401 - a strategy or a retriever
        """Import the class and return the object that its `of` makes of these components."""
        return self.load().of(*components)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(Generic[AgentT]):
    """A role of an agent, with a local implementation and one with a language model.

    Attributes:
        name: The name of the role, and its key in `[roles]`.
        does: The work of the role, as the end of a sentence that begins "The role that".
        choice: The default of its key in `[roles]`.
        model_of: The role whose key in `[roles]` counts for this one; empty if it has its own key.
        local: `module:class` of the local implementation, which has `of(assembly)`. If this is
            empty, there is none, and the agent is `None` without a language model.
        llm: `module:class` of the implementation with a language model, which has
            `of(assembly, model)`.
        prompts: `module:attribute` of each prompt that users can replace, by its name.
    """

    name: str
    does: str
    llm: str
    local: str = ""
    choice: Literal["local", "auto"] = "local"
    model_of: str = ""
    prompts: Mapping[str, str]

    @property
    def meaning(self) -> str:
        """The description of the role's key in the settings."""
        auto = " `auto` is `llm` if `llm.model` is given, else `local`."
        return f"The role that {self.does}." + auto * (self.choice == "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEntry(RegistryEntry):
    """A strategy, whose class has `of(assembly)`.

    Attributes:
        has_paper: Whether it is the strategy of a paper, whose preset is in a file NAME.toml.
        section: `module:class` of its table `[NAME]` in the settings; empty if it has none. The
            module must be as light to import as the settings themselves.
    """

    section: str = ""
    has_paper: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverEntry(RegistryEntry):
    """A retriever, whose class has `of(assembly, index)`.

    Attributes:
        by_embedder: Whether users may write `NAME:EMBEDDER` to search the vectors of one embedder.
            `of` then takes the embedder's name as a third argument.
    """

    by_embedder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(RegistryEntry):
    """A format of files, whose target parses bytes; `formats/sniff.py` recognises it.

    Attributes:
        endings: The endings of its files, without the dot.
        by_ending: Whether only the ending distinguishes it from other text.
        magic: The bytes with which its files begin, one of these; empty if there are none.
        media_types: The media types that its zip archives may declare.
        member: The beginning of the name of a member that only its zip archives have.
        lines: `module:attribute` of the function that reduces a file to the text whose lines are
            counted for citations. It is empty if the lines of the file itself are counted, and
            `None` if citations have no lines.
        pictures: Whether the parser takes a recogniser of text in pictures as its second argument.
    """

    endings: tuple[str, ...] = ()
    by_ending: bool = False
    magic: tuple[bytes, ...] = ()
    media_types: tuple[str, ...] = ()
    member: str = ""
    lines: str | None = None
    pictures: bool = False


# fmt: off
READER: "Role[Reader]" = Role(
    name="reader", does="finds answers in chunks", choice="auto",
    local="fathom.agents.reader.local:LocalReader", llm="fathom.agents.reader.llm:LLMReader",
    prompts={
        "reader": "fathom.agents.reader.reply_forms:QUOTES_PROMPT",
        "reader_numbers": "fathom.agents.reader.reply_forms:NUMBERS_PROMPT",
        "reader_short": "fathom.agents.reader.reply_forms:SHORT_PROMPT",
        "reader_sql": "fathom.agents.calculator.llm:PROMPT",
    },
)
JUDGE: "Role[Judge]" = Role(
    name="judge", does="judges a draft",
    local="fathom.agents.judge:LocalJudge", llm="fathom.agents.judge:LLMJudge",
    prompts={"judge": "fathom.agents.judge:PROMPT"},
)
DEBATER: "Role[Debater]" = Role(
    name="debater", does="speaks for one document in a debate",
    local="fathom.agents.debate.debater:LocalDebater",
    llm="fathom.agents.debate.debater:LLMDebater",
    prompts={"debater": "fathom.agents.debate.debater:PROMPT"},
)
AGGREGATOR: "Role[Aggregator]" = Role(
    name="aggregator", does="sums up a debate",
    local="fathom.agents.debate.aggregator:LocalAggregator",
    llm="fathom.agents.debate.aggregator:LLMAggregator",
    prompts={"aggregator": "fathom.agents.debate.aggregator:PROMPT"},
)
REWRITER: "Role[Rewriter]" = Role(
    name="rewriter", does="rewrites a question for the search",
    local="fathom.agents.rewriter:LocalRewriter", llm="fathom.agents.rewriter:LLMRewriter",
    prompts={
        "rewriter": "fathom.agents.rewriter:PROMPT",
        "stand_alone": "fathom.agents.rewriter:STAND_ALONE",
    },
)
DECOMPOSER: "Role[Decomposer]" = Role(
    name="decomposer", does="splits a question into sub-questions",
    local="fathom.agents.decomposer:LocalDecomposer",
    llm="fathom.agents.decomposer:LLMDecomposer",
    prompts={
        "decomposer_serial": "fathom.agents.decomposer:SERIAL",
        "decomposer_parallel": "fathom.agents.decomposer:PARALLEL",
    },
)
HYDE: "Role[Hypothesis]" = Role(
    name="hyde",
    does="invents an answer to search with; the local stand-in is pseudo-relevance feedback (RM3)",
    local="fathom.agents.hyde:LocalHypothesis", llm="fathom.agents.hyde:LLMHypothesis",
    prompts={"hyde": "fathom.agents.hyde:PROMPT"},
)
REORDERER: "Role[Reorderer]" = Role(
    name="reorderer", does="puts hits in order",
    local="fathom.retrieval.rerank:Reranker", llm="fathom.agents.reorderer:LLMReorderer",
    prompts={"reorderer": "fathom.agents.reorderer:PROMPT"},
)
SELECTOR: "Role[Selector]" = Role(
    name="selector", does="selects the hits that are worth reading",
    # A language model that reorders hits can also select them, so no further setting is needed.
    model_of="reorderer",
    local="fathom.agents.selector:LocalSelector", llm="fathom.agents.selector:LLMSelector",
    prompts={"selector": "fathom.agents.selector:PROMPT"},
)
SUMMARIZER: "Role[Summarizer]" = Role(
    name="summarizer", does="sums up an answer from the answers to sub-questions",
    local="fathom.agents.summarizer:LocalSummarizer",
    llm="fathom.agents.summarizer:LLMSummarizer",
    prompts={"summarizer": "fathom.agents.summarizer:PROMPT"},
)
PLANNER: "Role[Planner]" = Role(
    name="planner", does="chooses the workflow of `mao`",
    local="fathom.planner.workflows:LocalPlanner", llm="fathom.planner.workflows:LLMPlanner",
    prompts={"planner": "fathom.planner.workflows:PROMPT"},
)
QUESTIONER: "Role[LLMQuestioner | None]" = Role(
    name="questioner", does="makes questions about a corpus", choice="auto",
    llm="fathom.agents.questioner:LLMQuestioner",
    prompts={"questioner": "fathom.agents.questioner:PROMPT"},
)
# fmt: on
ROLES: Mapping[str, Role[Any]] = {
    role.name: role for role in tuple(vars().values()) if isinstance(role, Role)
}
"""All roles above by name."""
_STRATEGIES = (
    StrategyEntry("naive", "fathom.strategies.naive:Naive"),
    StrategyEntry("maf", "fathom.strategies.maf:Maf", section="fathom.settings.maf:MafSettings",
                  has_paper=True),
    StrategyEntry("anchor", "fathom.strategies.anchor:AnchorGate",
                  section="fathom.settings.anchor:AnchorSettings", has_paper=True),
    StrategyEntry("rrf", "fathom.strategies.rrf:Rrf", section="fathom.settings.rrf:RrfSettings",
                  has_paper=True),
    StrategyEntry("hybrid", "fathom.strategies.hybrid:Hybrid",
                  section="fathom.settings.hybrid:HybridSettings", has_paper=True),
    StrategyEntry("mao", "fathom.strategies.mao:Mao", section="fathom.settings.mao:MaoSettings",
                  has_paper=True),
    StrategyEntry("adaptive", "fathom.strategies.adaptive:Adaptive",
                  section="fathom.settings.adaptive:AdaptiveSettings"),
)  # fmt: skip
STRATEGIES: Mapping[str, StrategyEntry] = {entry.name: entry for entry in _STRATEGIES}
"""The strategies by name."""
PAPERS = tuple(name for name, entry in STRATEGIES.items() if entry.has_paper)
"""The names of the papers, which are those of their strategies."""
RETRIEVERS: Mapping[str, RetrieverEntry] = {
    entry.name: entry
    for entry in (
        RetrieverEntry("vector", "fathom.retrieval.vector:VectorRetriever", by_embedder=True),
        RetrieverEntry("keyword", "fathom.retrieval.keyword:KeywordRetriever"),
        RetrieverEntry("hybrid", "fathom.retrieval.hybrid:HybridRetriever", by_embedder=True),
        RetrieverEntry("lead", "fathom.retrieval.vector:LeadRetriever"),
        RetrieverEntry("sentence", "fathom.retrieval.vector:SentenceRetriever"),
        RetrieverEntry("vector_feedback", "fathom.retrieval.vector:VectorFeedback"),
        RetrieverEntry("keyword_feedback", "fathom.retrieval.keyword:KeywordFeedback"),
    )
}
"""The retrievers by name."""
_TEXT = "application/vnd.oasis.opendocument.text"
_SHEET = "application/vnd.oasis.opendocument.spreadsheet"
_SLIDES = "application/vnd.oasis.opendocument.presentation"
_FORMATS = (
    Format("csv", "fathom.documents.formats.csv:parse", endings=("csv", "tsv", "tab"),
           by_ending=True, lines=""),
    Format("docx", "fathom.documents.formats.office.docx:parse", endings=("docx",), member="word/",
           pictures=True),
    Format("eml", "fathom.documents.formats.eml:parse", endings=("eml",)),
    Format("html", "fathom.documents.formats.html:parse", endings=("html", "htm", "xhtml"),
           lines="fathom.documents.source_lines:strip_tags"),
    Format("json", "fathom.documents.formats.json:parse", endings=("json", "jsonl")),
    Format("manual", "fathom.documents.formats.manual:parse",
           lines="fathom.documents.formats.manual:remove_printer_marks"),
    Format("markdown", "fathom.documents.formats.markdown:parse",
           endings=("md", "markdown", "mdown", "mkd"), by_ending=True, lines=""),
    Format("notebook", "fathom.documents.formats.notebook:parse", endings=("ipynb",)),
    Format("odt", "fathom.documents.formats.office.odt:parse", endings=("odt", "ods", "odp"),
           media_types=(_TEXT, f"{_TEXT}-template", _SHEET, f"{_SHEET}-template", _SLIDES,
                        f"{_SLIDES}-template"), pictures=True),
    Format("pdf", "fathom.documents.formats.pdf.document:parse", endings=("pdf",),
           magic=(b"%PDF-",), pictures=True),
    Format("picture", "fathom.documents.formats.picture:parse",
           magic=(b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*"), pictures=True),
    Format("pptx", "fathom.documents.formats.office.pptx:parse", endings=("pptx",), member="ppt/",
           pictures=True),
    Format("rst", "fathom.documents.formats.rst:parse", endings=("rst",), by_ending=True, lines=""),
    Format("rtf", "fathom.documents.formats.rtf:parse", endings=("rtf",), magic=(b"{\\rtf",)),
    Format("text", "fathom.documents.formats.text:parse", endings=("txt", "text", "log"),
           by_ending=True, lines=""),
    Format("xlsx", "fathom.documents.formats.office.xlsx:parse", endings=("xlsx",), member="xl/"),
    # Books come after the office formats, whose archives may have a folder META-INF too.
    Format("epub", "fathom.documents.formats.epub:parse", endings=("epub",),
           media_types=("application/epub+zip",), member="META-INF/container.xml"),
    Format("xml", "fathom.documents.formats.xml:parse", endings=("xml",),
           lines="fathom.documents.source_lines:strip_tags"),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {entry.name: entry for entry in _FORMATS}
"""The formats by name."""
ENDINGS: Mapping[str, Format] = {ending: entry for entry in _FORMATS for ending in entry.endings}
"""Fathom's own formats by the endings of their files."""
