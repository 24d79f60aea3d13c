"""Settings: one frozen tree, and where each of its values came from.

Later layers win: defaults < user file < project file < environment < command line. Unknown keys
are errors. The user file is `fathom.toml` in `$XDG_CONFIG_HOME/fathom` (default
`~/.config/fathom`), the project file `fathom.toml` in the working directory; a variable
`FATHOM_RETRIEVAL__K=20` sets `retrieval.k`.
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from fathom.errors import SettingsError
from fathom.extensions import names
from fathom.settings import IndexSettings, Settings
from fathom.settings.section import find_first_fault

__all__ = [
    "IndexSettings",
    "Layers",
    "SettingValue",
    "Settings",
    "load_settings",
    "save_settings",
    "settings_of",
]

PREFIX = "FATHOM_"
_TRACE = "trace"
RENAMED: Mapping[str, str] = {
    "anchor.look": "anchor.first_k",
    "anchor.each": "anchor.hop_k",
    "anchor.further": "anchor.second_hop_bridges",
    "anchor.fading": "anchor.hop_decay",
    "anchor.untitled": "anchor.title_mismatch_weight",
    "llm.certain": "llm.skip_above_confidence",
    "maf.heed": "maf.peer_weight",
    "maf.floor": "maf.min_score",
    "maf.near": "maf.ngram_overlap",
    "maf.share": "maf.min_share",
    "mao.clear": "mao.score_gap",
    "mao.covered": "mao.coverage_threshold",
}
"""Settings by the names that they had once."""
EFFORT = "budget.effort"
INDEX = "index.url"


class SettingValue(NamedTuple):
    """A setting's value and the layer it came from."""

    key: str
    value: Any
    origin: str


class Layers:
    """Settings in layers, later ones on top; each value remembers its layer."""

    def __init__(self) -> None:
        self._given: dict[str, SettingValue] = {}
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
        layers.assign(assignments)
        return layers

    @classmethod
    def over(cls, settings: Settings, recorded: Mapping[str, Any]) -> Self:
        """The settings, with those that a trace has recorded on top.

        Raises:
            SettingsError: If the trace knows a setting that is no longer there.
        """
        layers = cls()
        own = settings.model_dump(mode="json", exclude={"extensions"})  # the trace knows all of it
        layers.add(_flatten(own), origin="settings")
        known_now = ((RENAMED.get(key, key), value) for key, value in _flatten(recorded))
        layers.add(known_now, origin=_TRACE)
        return layers

    def assign(self, assignments: Sequence[str]) -> None:
        """Put `a.b=c` texts on top.

        Raises:
            SettingsError: For an unknown key or a malformed assignment.
        """
        for assignment in assignments:
            key, sign, text = assignment.partition("=")
            if not sign:
                raise SettingsError(f"--set {assignment!r}: write it as --set section.key=value")
            self.add([(key.strip(), _parse(text))], origin="--set")

    def add(self, values: "Iterator[tuple[str, Any]] | list[tuple[str, Any]]", origin: str) -> None:
        """Put a layer on top; one with an effort hides what lower ones say of the budget.

        Raises:
            SettingsError: If a key is unknown, or a value can never be one.
        """
        values = list(values)
        if any(key == EFFORT for key, _ in values):  # it names a whole budget: none below counts
            for key in [each for each in self._given if each.startswith("budget.")]:
                del self._given[key]
        for key, value in values:
            if key not in self._known and not _is_extended(key, origin):
                raise SettingsError(f"unknown setting {key!r} in {origin}; {self._hint(key)}")
            if "\0" in str(value):
                raise SettingsError(f"{key} in {origin} holds a NUL character; take it out")
            if key.endswith("base_url") and "@" in str(value):
                raise SettingsError(
                    f"{key} in {origin} holds a user name or password; name a variable that "
                    "holds the key in llm.key_env"
                )
            self._given[key] = SettingValue(key, value, origin)

    def _hint(self, key: str) -> str:
        if key in RENAMED:
            return f"it is called {RENAMED[key]!r} now"
        if key.startswith("extensions."):
            return f"no strategy or retriever of another package is called {key.split('.')[1]!r}"
        near = difflib.get_close_matches(key, self._known, n=1)
        return f"did you mean {near[0]!r}?" if near else "see `fathom config show`"

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
            key, value, expected = find_first_fault(error)
            origin = self._given[key].origin if key in self._given else "settings"
            raise SettingsError(f"{key} = {value!r} in {origin}: {expected}") from None

    def values(self) -> list[SettingValue]:
        """Every setting with its value and origin, in the order of the tree."""
        flat = dict(_flatten(self.settings().model_dump(mode="json")))
        from fathom.index.engines import shown  # brings numpy

        flat[INDEX] = shown(flat[INDEX])
        return [
            SettingValue(key, value, self._given[key].origin if key in self._given else "default")
            for key, value in flat.items()
        ]


def _is_extended(key: str, origin: str) -> bool:
    """Whether it is of an extension, which knows its settings itself.

    What a trace has recorded may be of one that is gone, and that nobody asks for.
    """
    table, _, rest = key.partition(".")
    name, dot, own = rest.partition(".")
    if table != "extensions" or not (dot and own):
        return False
    return origin == _TRACE or any(name in names(kind) for kind in ("strategy", "retriever"))


def settings_of(given: Mapping[str, Any]) -> Settings:
    """The defaults with these values on top, as `{"a.b": c}` or `{"a": {"b": c}}`.

    Raises:
        SettingsError: If a setting is unknown or illegal.
    """
    layers = Layers()
    layers.add(_flatten(given), origin="settings")
    return layers.settings()


def load_settings(path: str | Path = ".") -> Settings:
    """The settings that the command line would have in the folder `path`.

    Raises:
        SettingsError: If a file or variable holds an unknown or illegal setting.
    """
    return Layers.load(cwd=Path(path)).settings()


def save_settings(file: Path, assignments: Mapping[str, str]) -> None:
    """Write settings into a `fathom.toml`; everything else in it stays as it is, in one step.

    Args:
        file: Made where there is none.
        assignments: Values as in TOML, or bare texts, by dotted keys.

    Raises:
        SettingsError: If the file cannot be read or written, or holds a setting in a form that
            cannot be replaced line by line.
    """
    before = dict(_flatten(_read_toml(file)))
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    for key, value in assignments.items():
        text = _with_setting(text, key, value)
    wanted = {**before, **{key: _parse(value) for key, value in assignments.items()}}
    try:
        after = dict(_flatten(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        after = {}
    if after != wanted:
        told = ", ".join(f"{key}={value}" for key, value in assignments.items())
        raise SettingsError(f"{file} is written in a way that cannot be changed: set {told} there")
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from None


def _with_setting(text: str, key: str, value: str) -> str:
    """A TOML text with one more or another value, in its table where that is there."""
    table, _, name = key.rpartition(".")
    line = f"{name} = {_as_toml(value)}\n"
    head = re.search(rf"^\[{re.escape(table)}\][ \t]*(?:#.*)?$\n?", text, re.MULTILINE)
    if head is None:
        blank = "\n" if text.strip() else ""
        joined = f"{text.rstrip()}\n" if text.strip() else ""
        return f"{joined}{blank}[{table}]\n{line}"
    following = re.search(r"^\[", text[head.end() :], re.MULTILINE)
    end = head.end() + following.start() if following else len(text)
    own = re.compile(rf"^{re.escape(name)}[ \t]*=.*$\n?", re.MULTILINE).search(
        text, head.end(), end
    )
    if own:
        return text[: own.start()] + line + text[own.end() :]
    joint = "" if text[: head.end()].endswith("\n") else "\n"
    return text[: head.end()] + joint + line + text[head.end() :]


def _as_toml(value: str) -> str:
    """A text as a TOML value: itself where it is one, else quoted."""
    return value if not isinstance(_parse(value), str) else json.dumps(_parse(value))


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
