"""An experiment as described by its TOML file: one table or figure of a paper."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fathom.errors import UsageError
from fathom.jsonable import dump_canonical
from fathom.settings import Settings as FathomSettings
from fathom.settings.papers import load_preset

Value = str | int | float | bool | list[str] | list[float]
Settings = Mapping[str, Value]
SAMPLES = "samples"
"""The data set that the project itself brings."""
MODELS = "models"
"""The folder of files of another kind: `role_plan.py`."""


class Part(BaseModel):
    """A part of an experiment's file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


PartT = TypeVar("PartT", bound=Part)


class Data(Part):
    """A data set, and the number of its questions to ask.

    Attributes:
        clean: Only questions are asked that had no part in making what is asked. Where nothing
            else is left, `false` asks all of them, and the page says what they had a part in.
    """

    set: str
    queries: int | None = Field(default=None, ge=1)
    clean: bool = True


class Arm(Part):
    """A system to measure.

    Attributes:
        name: What tables call it; `{}` stands for each value of `vary`, in turn, and `{strategy}`
            for the strategy.
        strategies: One arm for each of them.
        paper: The paper whose system is measured: its preset lies below the settings.
        without: The values of the preset that the arm does not take, by key or by table.
        use: Groups of settings that the experiment names.
        settings: What differs from the defaults, `a.b` -> value.
        corpus: Which variant of the data set's corpus it searches; empty is the corpus itself.
        corpora: Several of them, one after the other.
        vary: One arm for each combination of these values.
        on: The data sets it is asked on; empty is all.
    """

    name: str
    strategy: str = ""
    strategies: tuple[str, ...] = ()
    paper: str = ""
    without: tuple[str, ...] = ()
    retriever: str = ""
    use: tuple[str, ...] = ()
    settings: Mapping[str, Value] = Field(default_factory=dict)
    corpus: str = ""
    corpora: tuple[str, ...] = ()
    vary: Mapping[str, Sequence[Value]] = Field(default_factory=dict)
    on: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        systems = (self.strategy, self.strategies, self.paper, self.retriever)
        if [bool(system) for system in systems].count(True) != 1:
            raise ValueError(
                f"arm {self.name!r} needs a strategy, strategies, a paper or a retriever"
            )
        if unknown := sorted({*self.without} - {*_list_preset_names(self.paper)}):
            raise ValueError(f"arm {self.name!r}: the preset of its paper has no {unknown[0]!r}")
        if self.name.count("{}") != len(self.vary):
            raise ValueError(f"arm {self.name!r} needs one {{}} for each of its varied settings")
        return self

    @property
    def system(self) -> str:
        """The name of the strategy or retriever."""
        return self.strategy or self.retriever

    def is_asked_on(self, data: Data) -> bool:
        """Return whether the arm is asked on a data set."""
        return not self.on or data.set in self.on

    @property
    def assignments(self) -> dict[str, str]:
        """Its settings in the form of `--set`."""
        return {key: format_value(value) for key, value in sorted(self.settings.items())}

    def expand(self, groups: Mapping[str, Settings]) -> Iterator["Arm"]:
        """Yield one arm for each strategy, each corpus and each choice of the varied values.

        Args:
            groups: The settings of `use`.
        """
        used = {key: value for name in self.use for key, value in groups[name].items()}
        fixed = _read_preset(self.paper, self.without)
        strategies = self.strategies or (self.strategy or self.paper,)
        corpora = self.corpora or (self.corpus,)
        choices = list(product(*self.vary.values()))
        for strategy, corpus, chosen in product(strategies, corpora, choices):
            values = map(format_value, chosen)
            yield Arm(
                name=self.name.format(*values, strategy=strategy),
                strategy=strategy,
                retriever=self.retriever,
                settings={
                    **fixed,
                    **used,
                    **self.settings,
                    **dict(zip(self.vary, chosen, strict=True)),
                },
                corpus=corpus,
                on=self.on,
            )


class Printed(Part):
    """The values printed in the paper, verbatim."""

    head: tuple[str, ...]
    rows: tuple[tuple[str | float | int, ...], ...]
    note: str = ""


class Showing(Part):
    """A block of the page; further keys are options of its kind.

    Attributes:
        pooled: Whether all data sets are taken as one.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    pooled: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options in the file besides the kind."""
        return dict(self.model_extra or {})


class Fast(Part):
    """The differences of a run on the project's own samples only.

    Attributes:
        corpora: Variants of the samples' corpus for those of the real ones.
    """

    queries: int = Field(default=12, ge=1)
    corpora: Mapping[str, str] = Field(default_factory=dict)


class Experiment(Part):
    """One table or figure.

    Attributes:
        id: `<paper>/<name>`, from the file's place.
        where: Which table or figure of the paper.
        reading: What differs from the paper, and why.
        outcome: What came of it on these data; figures in braces are filled in (`outcome.py`).
        printed: The paper's own figures.
        current: Whether its rows are of today's code; if not, its page says so.
        settings: Groups of settings that several arms `use`.
    """

    id: str
    title: str
    where: str
    reading: str
    outcome: str = ""
    data: tuple[Data, ...] = Field(min_length=1)
    arm: tuple[Arm, ...] = Field(min_length=1)
    show: tuple[Showing, ...] = Field(min_length=1)
    settings: Mapping[str, Settings] = Field(default_factory=dict)
    printed: Printed | None = None
    current: bool = True
    fast: Fast = Fast()
    order: int = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        for arm in self.arm:
            if unknown := set(arm.use).difference(self.settings):
                raise ValueError(
                    f"arm {arm.name!r} uses {min(unknown)!r}, which is not in settings"
                )
        return self

    @property
    def paper(self) -> str:
        """The folder, which names the paper."""
        return self.id.partition("/")[0]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms, one for each corpus and choice of values."""
        return tuple(expanded for arm in self.arm for expanded in arm.expand(self.settings))

    def list_systems(self, data: Data) -> frozenset[str]:
        """Return the strategies and retrievers that are asked on a data set."""
        return frozenset(arm.system for arm in self.arms if arm.is_asked_on(data))

    def shorten(self) -> "Experiment":
        """Return the same experiment on the project's own samples."""
        few = Data(set=SAMPLES, queries=self.fast.queries, clean=False)
        arms = {}
        for arm in self.arms:
            corpus = self.fast.corpora.get(arm.corpus, arm.corpus)
            short = arm.model_copy(update={"corpus": corpus, "on": ()})
            arms[(short.name, corpus)] = short
        return self.model_copy(update={"data": (few,), "arm": tuple(arms.values()), "outcome": ""})


def read_experiment(file: Path) -> Experiment:
    """Read the experiment of a TOML file.

    Raises:
        UsageError: If it is not TOML, or an unknown or missing key is in it.
    """
    return parse_part(Experiment, file, id=f"{file.parent.name}/{file.stem}")


def parse_part(kind: type[PartT], file: Path, **extra: str) -> PartT:
    """Parse a TOML file as a part of this kind.

    Args:
        kind: The class of the part.
        file: The TOML file.
        extra: Fields that are not in the file.

    Raises:
        UsageError: If it is not TOML, or an unknown or missing key is in it.
    """
    try:
        payload = tomllib.loads(file.read_text(encoding="utf-8"))
        return kind.model_validate({**payload, **extra})
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{file}: {at or 'the file'}: {first['msg']}") from None


def find_experiments(root: Path, names: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments below a folder, in the order of papers and of their `order`.

    Args:
        root: A folder with a folder of TOML files for each paper.
        names: Ids, or names of papers; empty is all.

    Raises:
        UsageError: If one is malformed, or nothing is called so.
    """
    files = (file for file in sorted(root.glob("*/*.toml")) if file.parent.name != MODELS)
    experiments = [read_experiment(file) for file in files]
    experiments.sort(key=lambda experiment: (experiment.paper, experiment.order, experiment.id))
    for name in names:
        if not any(name in (experiment.id, experiment.paper) for experiment in experiments):
            ids = ", ".join(experiment.id for experiment in experiments)
            raise UsageError(f"there is no experiment {name!r}; there are {ids}")
    return [
        experiment
        for experiment in experiments
        if not names or {experiment.id, experiment.paper} & {*names}
    ]


def _list_preset_names(paper: str) -> Iterator[str]:
    """Yield the keys and the tables of a paper's preset."""
    for key in load_preset(paper):
        yield from (key, key.partition(".")[0])


def _read_preset(paper: str, without: Sequence[str]) -> Settings:
    """Return what a paper's preset says, if the strategy and the defaults do not say it anyway."""
    defaults = FathomSettings().model_dump(mode="json")
    parts = {key: key.partition(".") for key in load_preset(paper)}
    return {
        key: value
        for key, (value, _) in load_preset(paper).items()
        if key != "ask.strategy"
        and not {key, parts[key][0]} & {*without}
        and value != defaults[parts[key][0]][parts[key][2]]
    }


def format_value(value: Value) -> str:
    return value if isinstance(value, str) else dump_canonical(value)
