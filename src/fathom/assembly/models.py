"""The lowest layer of the assembly: the models, and the parts that are built with them."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from fathom.assembly.prompts import choose_prompts
from fathom.documents.base import ParseLimits
from fathom.documents.chunking.base import Chunker
from fathom.documents.chunking.fixed import CharacterChunker, TokenChunker
from fathom.documents.chunking.structure import StructureChunker
from fathom.documents.parse import VERSION as PARSERS_VERSION
from fathom.domains.domain import Domain, load_domain
from fathom.errors import ModelError, UsageError
from fathom.extensions import Kind, find_entry
from fathom.index.base import IndexReader as Index
from fathom.index.base import Space
from fathom.llm.retry import RetryPolicy
from fathom.llm.role_models import Connect, RoleModels
from fathom.models.base import Embedder, get_question_embedder
from fathom.models.cache import ModelCache
from fathom.models.caching_embedder import CachedEmbedder
from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.embedder import load_embedder
from fathom.models.embedder_check import CheckedEmbedder
from fathom.models.query_encoder import combine_with_encoder
from fathom.models.reader_loading import load_shipped_reader
from fathom.models.reading import CrossReader
from fathom.models.runtime import count_cores, count_physical_cores
from fathom.redaction import SECRETS
from fathom.retrieval.vector_side import VectorSide
from fathom.settings import Settings
from fathom.settings.extensions import ExtensionSettings, SectionT
from fathom.text.analyzer import Analyzer
from fathom.text.content_words import ContentTerms
from fathom.types import Chunk, Span
from fathom.usage import Budget

if TYPE_CHECKING:
    from fathom.agents.web.search import WebEngine


SERVED = "openai:"
"""The prefix of the names of embedders that run on a server."""
LOOKUP_THREADS = 4
"""The number of threads that look up words of questions while the questions are embedded."""
WARM = Chunk(id="warm#0", document_id="warm", text="warm", span=Span(0, 4), ordinal=0)
"""A chunk that is read once to load the cross-reader."""


class Models:
    """The models that the settings name, each loaded once; several engines may share them.

    Attributes:
        cache: A cache of the contents of model files, shared by several `Models`. A process that
            makes many of them may set it on the class; by default there is none.
        settings: The settings of the models.
        given_embedder: The embedder given in place of the one of the settings, or `None`.
        given_reader: The cross-reader given in place of the one of the settings, or `None`.
        is_warm: Whether `warm_up` has loaded the models.
    """

    cache: ModelCache | None = None

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        cross_reader: CrossReader | None = None,
        connect: Connect | None = None,
        cache: ModelCache | None = None,
    ) -> None:
        """Create the models without loading any.

        Args:
            settings: The settings, with the names and limits of the models.
            embedder: An embedder in place of the one that the settings name.
            cross_reader: A cross-reader in place of the one that the settings name.
            connect: A function that returns language models in place of those that the settings
                name.
            cache: A cache in place of the class's.
        """
        self.settings = settings
        self.cache = cache or self.cache
        self.given_embedder = embedder
        self.given_reader = cross_reader
        self._connect = connect
        self.is_warm = False
        self._warming = Lock()

    def with_connect(self, settings: Settings, connect: Connect | None) -> "Models":
        """Return new models for other settings, with the same given embedder and cross-reader.

        Args:
            settings: The other settings.
            connect: The function that returns language models; `None` for those of the settings.
        """
        return Models(
            settings,
            embedder=self.given_embedder,
            cross_reader=self.given_reader,
            connect=connect,
            cache=self.cache,
        )

    def share(self, settings: Settings) -> "Models":
        """Return new models for other settings; loaded models are shared if `[models]` is equal."""
        other = self.with_connect(settings, self._connect)
        if settings.models == self.settings.models:
            vars(other).update(embedder=self.embedder, cross_reader=self.cross_reader)
        return other

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of texts, which may have another encoder for questions."""
        models = self.settings.models
        embedder = self.given_embedder or self.load_embedder(models.embedder)
        if models.query_encoder == "same":
            return embedder
        return combine_with_encoder(models.query_encoder, embedder, self.cache)

    @cached_property
    def further(self) -> Mapping[str, Embedder]:
        """The embedders of the further vector spaces (`retrieval.embedders`), by name."""
        return {name: self.load_embedder(name) for name in self.settings.retrieval.embedders}

    @cached_property
    def cross_reader(self) -> CrossReader:
        """The model that reads a question and a chunk together."""
        models = self.settings.models
        return self.given_reader or load_shipped_reader(
            models.cross_reader,
            runtime=models.runtime,
            threads=models.threads,
            cache=self.cache,
        )

    @cached_property
    def language_models(self) -> RoleModels:
        """The language models of the roles."""
        return RoleModels(self.settings, connect=self._connect, cores=count_physical_cores())

    @cached_property
    def lookup_pool(self) -> ThreadPoolExecutor | None:
        """The threads that look up words of questions during embedding; `None` on one core."""
        return ThreadPoolExecutor(LOOKUP_THREADS, "words") if count_cores() > 1 else None

    def load_embedder(self, name: str) -> Embedder:
        """Load an embedder.

        Args:
            name: The name or folder of a local model, or `openai:MODEL` for one on a server.
        """
        models = self.settings.models
        if name.startswith(SERVED):
            return self._connect_embedder(name)
        return load_embedder(
            name,
            runtime=models.runtime,
            threads=models.threads,
            offline=self.settings.offline,
            cache=self.cache,
        )

    def _connect_embedder(self, name: str) -> Embedder:
        """Return the embedder on a server, by the settings of `[embedding]`."""
        from fathom.llm.embeddings import RemoteEmbedder, resolve_embedding_endpoint

        embedding = self.settings.embedding
        endpoint = resolve_embedding_endpoint(
            name,
            base_url=embedding.base_url,
            key_env=embedding.key_env,
            offline=self.settings.offline,
        )
        policy = RetryPolicy(tries=embedding.tries)
        return RemoteEmbedder(
            endpoint, batch=embedding.batch, seconds=embedding.seconds, policy=policy
        )

    def warm_up(self) -> None:
        """Load the models that a question needs, so that loading uses none of its budget.

        If another thread is loading them, wait for it; if they are loaded, do nothing.
        """
        with self._warming:
            if self.is_warm:
                return
            with suppress(ModelError):  # searches then use words only, and say so
                CheckedEmbedder(get_question_embedder(self.embedder)).embed(["warm"])
            self.cross_reader.open_session("warm").read([WARM])
            self.language_models.load()
            self.is_warm = True

    def close(self) -> None:
        """Stop the processes and threads of the models; a later use starts them again."""
        self.language_models.close()
        self.is_warm = False
        pool: ThreadPoolExecutor | None = vars(self).pop("lookup_pool", None)
        if pool is not None:
            pool.shutdown()


class ModelParts:
    """The lowest layer of the assembly: models, and the parts that are built with them.

    Attributes:
        settings: The settings of the parts.
        models: The models.
    """

    def __init__(self, settings: Settings, *, index: Callable[[], Index], models: Models) -> None:
        """Create the parts without loading or opening anything.

        Args:
            settings: The settings of the parts.
            index: The function that returns the open index, for searches and quotes.
            models: The models, which other assemblies may share.
        """
        self.settings = settings
        self.models = models
        self._extended = ExtensionSettings(settings.extensions)
        self._index = index
        self._agents: dict[str, Any] = {}

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of texts, with a check of its vectors."""
        return CheckedEmbedder(self.models.embedder)

    @cached_property
    def caching_embedders(self) -> Mapping[str, Embedder]:
        """The embedders of texts by the names of their spaces, each with a cache of its vectors."""
        further = {
            name: CachedEmbedder(CheckedEmbedder(embedder))
            for name, embedder in self.models.further.items()
        }
        return {"": CachedEmbedder(self.embedder), **further}

    @cached_property
    def question_embedder(self) -> Embedder:
        """The embedder of questions, with a check of its vectors."""
        return CheckedEmbedder(get_question_embedder(self.models.embedder))

    @property
    def spaces(self) -> list[Space]:
        """The further vector spaces that the index must have."""
        return [
            Space(name=name, identity=embedder.identity)
            for name, embedder in self.models.further.items()
        ]

    def side(self, name: str) -> VectorSide:
        """Return an embedder of questions with its vector space.

        Args:
            name: The name of an embedder in `retrieval.embedders`; that of `models.embedder`, or an
                empty name, for the main vector space.

        Raises:
            UsageError: If the settings name no such embedder.
        """
        if name in {"", self.settings.models.embedder}:
            return VectorSide(embedder=self.question_embedder, texts=self.caching_embedders[""])
        if name not in self.settings.retrieval.embedders:
            raise UsageError(f"no vectors of {name!r} are searched; add it to retrieval.embedders")
        embedder = self.models.further[name]
        asked = CheckedEmbedder(get_question_embedder(embedder))
        return VectorSide(
            embedder=asked,
            texts=self.caching_embedders[name],
            space=Space(name=name, identity=embedder.identity),
        )

    @property
    def cross_reader(self) -> CrossReader:
        """The model that reads a question and a chunk together."""
        return self.models.cross_reader

    def count_pieces(self, word: str) -> int:
        """Return the number of tokens of a word, by the cross-reader or else by the embedder."""
        # The speller compares words by the tokens of the model that reads them. A cross-reader that
        # was given as an argument may have no tokenizer.
        reader = self.cross_reader
        if isinstance(reader, OnnxCrossReader):
            return len(reader.tokenize(word))
        return self.embedder.count(word)

    @cached_property
    def domain(self) -> Domain:
        """The domain: the terms, synonyms and classes of questions of a subject.

        Raises:
            SettingsError: If its file cannot be read or has another form.
        """
        return load_domain(self.settings.domain.file)

    @cached_property
    def terms(self) -> ContentTerms:
        """The function that returns the distinct stemmed content words of a text."""
        return ContentTerms()

    @cached_property
    def chunker(self) -> Chunker:
        """The chunker of documents."""
        chunking = self.settings.chunking
        if chunking.method == "characters":
            return CharacterChunker(size=chunking.size, overlap=chunking.overlap)
        count = self.embedder.count
        if chunking.method == "tokens":
            return TokenChunker(count, size=chunking.size, overlap=chunking.overlap)
        return StructureChunker(count, max_tokens=chunking.max_tokens)

    @cached_property
    def identity(self) -> dict[str, str]:
        """The names and versions that an index and those who write to it must agree on.

        They are those of the embedder, the chunker, the analyzer and the parsers, by dotted key.
        """
        parts = {
            "embedder": {**self.embedder.identity, "dimension": str(self.embedder.dimension)},
            "chunker": self.chunker.identity,
            "parsers": {"version": PARSERS_VERSION},
        }
        identity = {
            f"{part}.{name}": value
            for part, identity in parts.items()
            for name, value in identity.items()
        }
        return {**identity, **self.word_identity}

    @property
    def word_identity(self) -> dict[str, str]:
        """The part of `identity` that keyword search depends on; it needs no model."""
        return {f"analyzer.{name}": value for name, value in Analyzer().identity.items()}

    @cached_property
    def query_identity(self) -> dict[str, str]:
        """The part of `identity` that an index and those who search it must agree on."""
        made_with = ("embedder.", "analyzer.")
        return {key: value for key, value in self.identity.items() if key.startswith(made_with)}

    @property
    def parse_limits(self) -> ParseLimits:
        """The limits on parsing one file."""
        limits = self.settings.limits
        return ParseLimits(
            memory_bytes=limits.memory_mb << 20,
            cpu_s=limits.cpu_s,
            wall_s=limits.wall_s,
            file_bytes=limits.file_mb << 20,
            ocr_pages=limits.ocr_pages,
            ocr_memory_bytes=limits.ocr_memory_mb << 20,
            ocr_cpu_s=limits.ocr_cpu_s,
            ocr_wall_s=limits.ocr_wall_s,
        )

    @property
    def budget(self) -> Budget:
        """The budget of one question, by the settings."""
        return Budget(**self.settings.budget.model_dump(exclude={"effort"}))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of the models and of the web search, and all other secrets of this process."""
        engine = self.__dict__.get("web_engine")
        web = (engine.key.get_secret_value(),) if engine and engine.key else ()
        return (*self.models.language_models.secrets, *web, *SECRETS.values)

    def prepare(self) -> None:
        """Build the language models, prompts and web search, so that faults are reported at once.

        Raises:
            UsageError: If a role names a model, or the web search a provider, that cannot be used.
            SettingsError: If the file of a prompt cannot be read or has other placeholders.
        """
        self.models.language_models.prepare()
        # Importing the modules of prompts takes a while, and shipped prompts need no check.
        if any(self.settings.llm.prompts.model_dump().values()):
            choose_prompts(self.settings)
        if self.settings.web.provider:
            _ = self.web_engine

    @cached_property
    def web_engine(self) -> "WebEngine":
        """The client of the web search; a replay never uses it.

        Raises:
            UsageError: If the provider is unknown, or its key is missing.
        """
        from fathom.agents.web.engines import load_web_engine

        web = self.settings.web
        return load_web_engine(
            web.provider,
            base_url=web.base_url,
            key_env=web.key_env,
            offline=self.settings.offline,
            most_bytes=web.max_kb << 10,
        )

    def make(self, kind: Kind, name: str, *given: object) -> Any:  # noqa: ANN401
        """Build a strategy or a retriever, of Fathom or of another package.

        Args:
            kind: The kind: a strategy or a retriever.
            name: The name in the registry, or that of the entry point.
            given: The arguments of the class's `of` besides this assembly.

        Raises:
            UsageError: If there is none of this name, or it cannot be used.
            SettingsError: If its settings are illegal, or it has a table but reads no settings.
        """
        component = find_entry(kind, name).make(self, *given)
        # Only now is it known whether the class of an extension has read its table.
        self._extended.check_use(name)
        return component

    def section(self, name: str, kind: type[SectionT]) -> SectionT:
        """Return the settings of an extension, from its table `[extensions.NAME]`.

        Args:
            name: The name of the strategy or the retriever.
            kind: The class of the section, with the defaults.

        Raises:
            SettingsError: If a setting is unknown or illegal.
        """
        return self._extended.read_section(name, kind)

    def list_recorded_settings(self, strategy: str) -> dict[str, Any]:
        """Return the settings that the trace of an answer of a strategy records."""
        tables = self._extended.to_record(strategy)
        return self.settings.to_record() | ({"extensions": tables} if tables else {})
