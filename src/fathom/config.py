"""The sources of the settings.

The sources are layers, of which later ones win: defaults < the preset of `ask.paper` < user file <
project file < environment < command line. Each value keeps the name of its layer. The user file is
`fathom.toml` in `$XDG_CONFIG_HOME/fathom` (default `~/.config/fathom`), the project file
`fathom.toml` in the working directory; a variable `FATHOM_RETRIEVAL__K=20` sets `retrieval.k`.
Unknown keys are errors. So are constants, which are numbers of a paper or of a measurement: only
experiments, replays and tests vary them.
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
from fathom.extensions import list_names
from fathom.settings import IndexSettings, Settings
from fathom.settings.papers import PaperValue, load_preset
from fathom.settings.section import find_first_fault, iterate_keys

__all__ = [
    "IndexSettings",
    "Layers",
    "SettingValue",
    "Settings",
    "load_settings",
    "parse_settings",
    "save_settings",
]

VARIABLE_PREFIX = "FATHOM_"
_TRACE_ORIGIN = "trace"
RENAMED_SETTINGS: Mapping[str, str] = {
    "anchor.look": "anchor.first_k",
    "anchor.each": "anchor.hop_k",
    "anchor.further": "anchor.second_hop_bridges",
    "anchor.fading": "anchor.hop_decay",
    "anchor.untitled": "anchor.title_mismatch_weight",
    "grading.conciseness": "grading.prompts.conciseness",
    "grading.correctness": "grading.prompts.correctness",
    "grading.no_hallucination": "grading.prompts.no_hallucination",
    "llm.certain": "llm.skip_above_confidence",
    "maf.heed": "maf.peer_weight",
    "maf.floor": "maf.min_score",
    "maf.near": "maf.ngram_overlap",
    "maf.share": "maf.min_share",
    "mao.clear": "mao.score_gap",
    "mao.covered": "mao.coverage_threshold",
}
"""The current names of settings, by their former names."""
EFFORT_KEY = "budget.effort"
PAPER_KEY, STRATEGY_KEY = "ask.paper", "ask.strategy"
INDEX_KEY = "index.url"


class SettingValue(NamedTuple):
    """The value of a setting and the layer that it came from.

    Attributes:
        key: The dotted key, such as `retrieval.k`.
        value: The value.
        origin: The layer for people: a file, a variable, `flag`, `--set`, a paper or `default`.
    """

    key: str
    value: Any
    origin: str


class Layers:
    """The settings in layers, of which later ones win; each value keeps the name of its layer."""

    def __init__(self, *, constants: bool = False) -> None:
        """Begin with the defaults.

        Args:
            constants: Whether layers may set constants too, as experiments, replays and tests do.
        """
        self._given: dict[str, SettingValue] = {}
        # For each key, the words that refuse it; empty for one that users may set.
        self._refusals = dict(iterate_keys(Settings))
        self._tables = {key.rpartition(".")[0] for key in self._refusals}
        self._constants = constants

    @classmethod
    def load(
        cls,
        *,
        cwd: Path,
        environment: Mapping[str, str] = os.environ,
        flags: Mapping[str, Any] | None = None,
        assignments: Sequence[str] = (),
        constants: bool = False,
    ) -> Self:
        """Read all layers.

        Args:
            cwd: The folder of the project file.
            environment: The environment variables; those with the prefix `FATHOM_` must name
                settings.
            flags: The values of the command line's flags by dotted key; `None` for a flag that is
                not given.
            assignments: Texts `a.b=c`, each with the value as in TOML or as bare text.
            constants: Whether layers may set constants too.

        Raises:
            SettingsError: If a key is unknown or a constant, a file is unreadable, an assignment is
                malformed, or a value can never be one.
        """
        layers = cls(constants=constants)
        home = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~")) / ".config"
        for file in (Path(home).expanduser() / "fathom" / "fathom.toml", cwd / "fathom.toml"):
            layers.add(_flatten(_read_toml(file)), origin=str(file))
        for name, text in sorted(environment.items()):
            if name.startswith(VARIABLE_PREFIX):
                key = name.removeprefix(VARIABLE_PREFIX).lower().replace("__", ".")
                layers.add([(key, _parse_value(text))], origin=name)
        layers.add([(k, v) for k, v in (flags or {}).items() if v is not None], origin="flag")
        layers.assign(assignments)
        return layers

    @classmethod
    def from_trace(cls, settings: Settings, recorded: Mapping[str, Any]) -> Self:
        """Return the layers of the current settings and of those that a trace recorded, which win.

        Args:
            settings: The current settings.
            recorded: The settings of the trace, as a tree; former names are understood.

        Raises:
            SettingsError: If the trace holds a setting that does not exist any more.
        """
        # A trace records constants too, and a replay must set them.
        layers = cls(constants=True)
        current = settings.model_dump(
            mode="json", exclude={"extensions"}
        )  # the trace has recorded all settings of extensions
        layers.add(_flatten(current), origin="settings")
        renamed = ((RENAMED_SETTINGS.get(key, key), value) for key, value in _flatten(recorded))
        layers.add(renamed, origin=_TRACE_ORIGIN)
        return layers

    def assign(self, assignments: Sequence[str]) -> None:
        """Add a layer for each text `a.b=c`.

        Raises:
            SettingsError: If an assignment is malformed, or as in `add`.
        """
        for assignment in assignments:
            key, sign, text = assignment.partition("=")
            if not sign:
                raise SettingsError(f"--set {assignment!r}: write it as --set section.key=value")
            self.add([(key.strip(), _parse_value(text))], origin="--set")

    def add(self, values: "Iterator[tuple[str, Any]] | list[tuple[str, Any]]", origin: str) -> None:
        """Add a layer, whose values win over those of all layers before.

        If the layer sets `budget.effort`, it removes all limits of a budget in the layers before.
        If it sets a paper or a strategy, it removes the paper and the strategy of those layers.

        Args:
            values: The values by dotted key.
            origin: The name of the layer, for people.

        Raises:
            SettingsError: If a key is unknown or a constant, or a value can never be one.
        """
        values = list(values)
        keys = {key for key, value in values if value != ""}
        # An effort names a whole budget, so no limit of a lower layer counts.
        if EFFORT_KEY in keys:
            for limit in [key for key in self._given if key.startswith("budget.")]:
                del self._given[limit]
        # A paper is a strategy with its settings, so the later one of the two counts.
        if keys & {PAPER_KEY, STRATEGY_KEY}:
            for key in (PAPER_KEY, STRATEGY_KEY):
                self._given.pop(key, None)
        for key, value in values:
            self._check(key, value, origin)
            # A folder of prompts and a single file in it override each other; the later one counts.
            self._given.pop(key.rpartition(".")[0], None)
            for file in self._list_files(key):
                del self._given[file]
            self._given[key] = SettingValue(key, value, origin)

    def _list_files(self, key: str) -> list[str]:
        """Return the given keys below a key, such as the files of a folder.

        Only the key of a table has any. All others are answered at once, because a replay adds
        hundreds of keys.
        """
        if key in self._refusals and key not in self._tables:
            return []
        return [other for other in self._given if other.startswith(f"{key}.")]

    def _check(self, key: str, value: Any, origin: str) -> None:  # noqa: ANN401 - as in the file
        """Check that a key may be set and that its value can be one.

        Raises:
            SettingsError: If the key is unknown or a constant, or the value holds a NUL character
                or, in an address, a user name or password.
        """
        if key not in self._refusals and not _belongs_to_extension(key, origin):
            raise SettingsError(f"unknown setting {key!r} in {origin}; {self._make_hint(key)}")
        refusal = self._refusals.get(key)
        if refusal and not self._constants:
            raise SettingsError(f"{key} in {origin} is {refusal}")
        # A NUL character would end paths and texts early inside of C libraries.
        if "\0" in str(value):
            raise SettingsError(f"{key} in {origin} holds a NUL character; take it out")
        # Settings are recorded in traces and shown, so they must not hold a password.
        if key.endswith("base_url") and "@" in str(value):
            raise SettingsError(
                f"{key} in {origin} holds a user name or password; name a variable that "
                "holds the key in llm.key_env"
            )

    def _make_hint(self, key: str) -> str:
        """Return the advice for an unknown key: its current name, a similar key, or a command."""
        if key in RENAMED_SETTINGS:
            refusal = self._refusals[RENAMED_SETTINGS[key]]
            return f"it is called {RENAMED_SETTINGS[key]!r} now" + (
                f", {refusal}" if refusal else ""
            )
        if key.startswith("extensions."):
            return f"no strategy or retriever of another package is called {key.split('.')[1]!r}"
        settable = [
            setting for setting, words in self._refusals.items() if self._constants or not words
        ]
        close = difflib.get_close_matches(key, settable, n=1)
        return f"did you mean {close[0]!r}?" if close else "see `fathom config show`"

    def build_settings(self) -> Settings:
        """Return the settings of all layers, checked.

        Raises:
            SettingsError: If a value is illegal, or several do not go together.
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
            if not key:  # several settings do not go together
                raise SettingsError(expected) from None
            origin = self._given[key].origin if key in self._given else "settings"
            raise SettingsError(f"{key} = {value!r} in {origin}: {expected}") from None

    def list_values(self, *, constants: bool = False) -> list[SettingValue]:
        """Return every setting with its value and origin, in the order of the tables.

        A password in the URL of the index is hidden.

        Args:
            constants: Whether to return the constants too.

        Raises:
            SettingsError: As in `build_settings`.
        """
        flat = dict(_flatten(self.build_settings().model_dump(mode="json")))
        from fathom.index.engines import redact_url  # imports numpy, which takes a while

        # The URL may hold a password, which nobody should see on a screen.
        flat[INDEX_KEY] = redact_url(flat[INDEX_KEY])
        keys = [key for key, refusal in self._refusals.items() if constants or not refusal]
        extended = [key for key in flat if key not in self._refusals]
        return [self._get_value(key, flat) for key in [*keys, *extended]]

    def list_paper_values(self) -> list[SettingValue]:
        """Return the settings that the chosen paper fixes, with their current values.

        The origin names the section of the paper. If a layer overrides the paper, it names the
        layer and the paper's own value.

        Raises:
            SettingsError: If no paper is named, or a value is illegal.
        """
        preset = load_preset(self.build_settings().ask.paper)
        if not preset:
            raise SettingsError("no paper is named; add --paper NAME, or set ask.paper")
        return [value for value in self.list_values(constants=True) if value.key in preset]

    def _get_value(self, key: str, flat: Mapping[str, Any]) -> SettingValue:
        """Return a setting with its value and origin.

        Args:
            key: The dotted key.
            flat: The values of all settings by dotted key.
        """
        paper = flat[PAPER_KEY]
        fixed: PaperValue | None = load_preset(paper).get(key)
        origin = f"paper {paper}, {fixed.section}" if fixed else "default"
        given = self._given.get(key)
        if given and fixed:
            given = given._replace(origin=f"{given.origin} ({origin}: {fixed.value})")
        given = given or SettingValue(key, "", origin)
        # Among the values are the files of a folder but not the folder itself.
        return given._replace(value=flat.get(key, given.value))


def _belongs_to_extension(key: str, origin: str) -> bool:
    """Return whether a key belongs to an extension, which checks its settings itself.

    In a trace the extension need not be installed, because a replay may not need it.
    """
    table, _, qualified = key.partition(".")
    name, dot, setting = qualified.partition(".")
    if table != "extensions" or not (dot and setting):
        return False
    return origin == _TRACE_ORIGIN or any(
        name in list_names(kind) for kind in ("strategy", "retriever")
    )


def parse_settings(given: Mapping[str, Any], *, constants: bool = False) -> Settings:
    """Return the settings with given values, and the defaults for all others.

    Args:
        given: The values, as `{"a.b": c}` or `{"a": {"b": c}}`.
        constants: Whether the values may be constants too, as in experiments and tests.

    Raises:
        SettingsError: If a setting is unknown, illegal or a constant.
    """
    layers = Layers(constants=constants)
    layers.add(_flatten(given), origin="settings")
    return layers.build_settings()


def load_settings(path: str | Path = ".") -> Settings:
    """Return the settings that the command line would use in a folder.

    Args:
        path: The folder of the project file.

    Raises:
        SettingsError: If a file or variable holds an unknown or illegal setting.
    """
    return Layers.load(cwd=Path(path)).build_settings()


def save_settings(file: Path, assignments: Mapping[str, str]) -> None:
    """Write settings into a `fathom.toml` atomically; everything else in it stays as it is.

    Args:
        file: The file, which is created if it does not exist.
        assignments: The values by dotted key, each as in TOML or as bare text.

    Raises:
        SettingsError: If the file cannot be read or written, or holds a setting in a form that
            cannot be replaced line by line.
    """
    before = dict(_flatten(_read_toml(file)))
    text = _read_text(file) if file.exists() else ""
    for key, value in assignments.items():
        text = _insert_setting(text, key, value)
    expected = {**before, **{key: _parse_value(value) for key, value in assignments.items()}}
    try:
        after = dict(_flatten(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        after = {}
    # The file is edited as text to keep its comments, so the edit is checked here.
    if after != expected:
        pairs = ", ".join(f"{key}={value}" for key, value in assignments.items())
        raise SettingsError(f"{file} is written in a way that cannot be changed: set {pairs} there")
    # If the file were written in place, a crash could leave it half written.
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from None


def _insert_setting(text: str, key: str, value: str) -> str:
    """Return a TOML text with a setting replaced, or added to its table, or in a new table."""
    table, _, name = key.rpartition(".")
    line = f"{name} = {_format_toml(value)}\n"
    head = re.search(rf"^\[{re.escape(table)}\][ \t]*(?:#.*)?$\n?", text, re.MULTILINE)
    if head is None:
        blank = "\n" if text.strip() else ""
        beginning = f"{text.rstrip()}\n" if text.strip() else ""
        return f"{beginning}{blank}[{table}]\n{line}"
    next_table = re.search(r"^\[", text[head.end() :], re.MULTILINE)
    end = head.end() + next_table.start() if next_table else len(text)
    present = re.compile(rf"^{re.escape(name)}[ \t]*=.*$\n?", re.MULTILINE).search(
        text, head.end(), end
    )
    if present:
        return text[: present.start()] + line + text[present.end() :]
    separator = "" if text[: head.end()].endswith("\n") else "\n"
    return text[: head.end()] + separator + line + text[head.end() :]


def _format_toml(value: str) -> str:
    """Return a text as a TOML value: unchanged if it is one, else quoted."""
    return value if not isinstance(_parse_value(value), str) else json.dumps(_parse_value(value))


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the value of each leaf of a tree."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file; empty if there is no such file.

    Raises:
        SettingsError: If it cannot be read.
    """
    try:
        return tomllib.loads(_read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None


def _read_text(file: Path) -> str:
    """Return the text of a file without the byte order mark that some editors put before it."""
    return file.read_text(encoding="utf-8-sig")


def _parse_value(text: str) -> Any:  # noqa: ANN401 - a TOML value of any type
    """Return the value of a text as TOML; the text itself if it is no TOML."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
