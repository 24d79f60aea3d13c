"""Settings: one frozen tree, and where each of its values came from.

Later layers win: defaults < user file < project file < environment < command line. Unknown keys
are errors. The user file is `fathom.toml` in `$XDG_CONFIG_HOME/fathom` (default
`~/.config/fathom`), the project file `fathom.toml` in the working directory; a variable
`FATHOM_RETRIEVAL__K=20` sets `retrieval.k`.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fathom.errors import SettingsError

PREFIX = "FATHOM_"


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class IndexSettings(Section):
    """Where the index lies and how it is kept."""

    directory: Path = Path(".fathom")
    durability: Literal["normal", "full"] = "normal"
    """`normal` survives the death of the process, `full` also that of the machine."""
    ann_from_chunks: int = Field(default=20_000, ge=0)
    """More chunks than this outside the graph and the graph of neighbours is built anew."""


class IngestSettings(Section):
    """How files go in."""

    batch_documents: int = Field(default=256, ge=1)
    """So many documents are embedded together and stored in one step."""


class ChunkingSettings(Section):
    """How documents are cut into chunks."""

    method: Literal["structure", "characters", "tokens"] = "structure"
    max_tokens: int = Field(default=200, ge=16, le=510)
    """`structure`: the largest chunk."""
    size: int = Field(default=1200, ge=16)
    """`characters` and `tokens`: the length of a chunk."""
    overlap: int = Field(default=200, ge=0)
    """`characters` and `tokens`: what neighbours share."""


class ModelSettings(Section):
    """The local models."""

    embedder: str = "all-MiniLM-L6-v2"
    """The shipped model, a folder, or the name of a sentence-transformers model of the hub."""
    runtime: Literal["onnxruntime", "openvino"] = "onnxruntime"
    threads: int = Field(default=0, ge=0)
    """Cores to use; 0 takes all that this process may use."""


class LimitSettings(Section):
    """What one file may cost while it is parsed."""

    memory_mb: int = Field(default=1024, ge=64)
    cpu_s: int = Field(default=20, ge=1)
    wall_s: float = Field(default=30, gt=0)
    file_mb: int = Field(default=200, ge=1)


class RetrievalSettings(Section):
    """How hits are found and fused."""

    k: int = Field(default=10, ge=1)
    retriever: Literal["vector", "keyword", "hybrid"] = "hybrid"
    candidates: int = Field(default=100, ge=1)
    """How many hits each leg gives to the fusion, at least."""
    fusion: Literal["rrf", "weighted_sum"] = "rrf"
    rrf_k: int = Field(default=60, ge=0)
    vector_weight: float = Field(default=1.0, ge=0)
    keyword_weight: float = Field(default=1.0, ge=0)
    foreign_vector_weight: float = Field(default=0.3, ge=0)
    """Weight of the vector leg for questions in a language that the embedder was not made for."""


class AskSettings(Section):
    """When and how an answer is given."""

    chunks: int = Field(default=8, ge=1)
    """How many of the best hits the reader reads."""
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    """Below it the answer is an abstention."""
    sentences: int = Field(default=2, ge=1)
    """At most so many quotes."""


class Settings(Section):
    """All settings of Fathom."""

    index: IndexSettings = IndexSettings()
    ingest: IngestSettings = IngestSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    models: ModelSettings = ModelSettings()
    limits: LimitSettings = LimitSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    ask: AskSettings = AskSettings()
    offline: bool = False
    """Open no socket, whatever else is asked."""


class Value(NamedTuple):
    """A setting's value and the layer it came from."""

    key: str
    value: Any
    origin: str


class Layers:
    """Settings in layers, later ones on top; each value remembers its layer."""

    def __init__(self) -> None:
        self._given: dict[str, Value] = {}
        self._known = dict(_flatten(Settings().model_dump(mode="json")))

    @classmethod
    def load(
        cls,
        *,
        cwd: Path,
        environment: Mapping[str, str] = os.environ,
        flags: Mapping[str, Any] | None = None,
        assignments: Sequence[str] = (),
    ) -> Self:
        """Read all layers.

        Args:
            cwd: Where the project file is looked for.
            environment: Variables; those with the prefix must name settings.
            flags: Dotted keys given by flags of their own; `None` values are not given.
            assignments: `a.b=c` texts, the value written as in TOML, or bare text.

        Raises:
            SettingsError: For an unknown key, an unreadable file or a malformed assignment.
        """
        layers = cls()
        home = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~")) / ".config"
        for file in (Path(home).expanduser() / "fathom" / "fathom.toml", cwd / "fathom.toml"):
            layers.add(_flatten(_read_toml(file)), origin=str(file))
        for name, text in sorted(environment.items()):
            if name.startswith(PREFIX):
                key = name.removeprefix(PREFIX).lower().replace("__", ".")
                layers.add([(key, _parse(text))], origin=name)
        layers.add([(k, v) for k, v in (flags or {}).items() if v is not None], origin="flag")
        for assignment in assignments:
            key, sign, text = assignment.partition("=")
            if not sign:
                raise SettingsError(f"--set {assignment!r}: write it as --set section.key=value")
            layers.add([(key.strip(), _parse(text))], origin="--set")
        return layers

    def add(self, values: "Iterator[tuple[str, Any]] | list[tuple[str, Any]]", origin: str) -> None:
        """Put a layer on top.

        Raises:
            SettingsError: If a key is unknown.
        """
        for key, value in values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else "; see `fathom config show`"
                raise SettingsError(f"unknown setting {key!r} in {origin}{hint}")
            self._given[key] = Value(key, value, origin)

    def settings(self) -> Settings:
        """The validated tree.

        Raises:
            SettingsError: For an illegal value.
        """
        tree: dict[str, Any] = {}
        for key, value, _ in self._given.values():
            *sections, name = key.split(".")
            branch = tree
            for section in sections:
                branch = branch.setdefault(section, {})
            branch[name] = value
        try:
            return Settings.model_validate(tree)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            origin = self._given[key].origin if key in self._given else "settings"
            raise SettingsError(
                f"{key} = {first['input']!r} in {origin}: {first['msg'].lower()}"
            ) from None

    def values(self) -> list[Value]:
        """Every setting with its value and origin, in the order of the tree."""
        flat = dict(_flatten(self.settings().model_dump(mode="json")))
        return [
            Value(key, value, self._given[key].origin if key in self._given else "default")
            for key, value in flat.items()
        ]


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None


def _parse(text: str) -> Any:  # noqa: ANN401 - a TOML value of any type
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
