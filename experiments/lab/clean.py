"""Clean results: none of their questions was used for training or for choices.

A row is not clean if a question, or an article or document that it is about, is in the manifest of
a model's training, or if a constant of the system was chosen on the question. What is not clean
has to be said so in the experiment's file (`clean = false`) and in plain words on its page, and is
never a headline. All of it is checked from what is published and from the manifests: no data set
is needed.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Self

from experiments.lab.code import Code
from experiments.lab.headlines import HEADLINES, Headline
from experiments.lab.plan import Experiment
from experiments.lab.prints import applies_to
from experiments.lab.scores import Scored, load_scores
from experiments.lab.summary import Summary
from research.contamination import Manifest, locate_manifest

from fathom.evaluation.measures import SCORES

UNCHECKED = (
    "**Not checked**, so no evidence of quality: made before questions were compared with what "
    "was learned from and chosen on, and some of these were. Tables and text are of that run and "
    "will be made anew."
)
CLEAN = (
    "No question of these tables, and no article or document that one is about, was learned from "
    "or chosen on."
)
OLDER = "**Older than the code**: the code of its systems has changed since the commit named below."
_NEAR = 2e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Stain:
    """Questions of a data set that influenced a system that is measured on them.

    Attributes:
        asked: How many questions the experiment asks of the data set.
        touched: For how many of them it is so.
        what: What they had a part in; see `Manifest.what`.
    """

    set: str
    asked: int
    touched: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An experiment as published.

    Attributes:
        questions: None are there if it was made before scores were published.
        stains: What is not clean.
    """

    experiment: Experiment
    summary: Summary
    questions: tuple[Scored, ...]
    stains: tuple[Stain, ...]

    @classmethod
    def load(
        cls, folder: Path, experiment: Experiment, manifests: Sequence[Manifest]
    ) -> Self | None:
        """Load the published files of an experiment; `None` without a summary."""
        summary = Summary.load(folder, experiment)
        if summary is None:
            return None
        questions = load_scores(folder, experiment.id)
        stains = tuple(find_stains(questions, manifests))
        return cls(experiment=experiment, summary=summary, questions=questions, stains=stains)

    @property
    def state(self) -> str:
        """The state of the results, in a word or two."""
        if not self.questions:
            return "not checked"
        if not self.stains:
            return "yes"
        stained = {stain.set for stain in self.stains}
        return "no" if stained == {question.set for question in self.questions} else "in part"

    @property
    def note(self) -> str:
        """The remark on its page."""
        if not self.questions:
            return UNCHECKED
        note = describe_stains(self.stains) if self.stains else CLEAN
        return note if self.experiment.current else f"{note} {OLDER}"

    def is_clean(self, name: str) -> bool:
        """Return whether the rows of a data set are known to be clean."""
        has_questions = any(question.set == name for question in self.questions)
        return has_questions and all(stain.set != name for stain in self.stains)


def find_stains(questions: Sequence[Scored], manifests: Sequence[Manifest]) -> Iterator[Stain]:
    """Return the stains by data set and manifest."""
    for name in dict.fromkeys(question.set for question in questions):
        of_set = [(scored.print, scored.systems) for scored in questions if scored.set == name]
        for manifest in manifests:
            touched = sum(
                applies_to(manifest, systems) and print_.touches(manifest)
                for print_, systems in of_set
            )
            if touched:
                yield Stain(set=name, asked=len(of_set), touched=touched, what=manifest.what)


def describe_stains(stains: Sequence[Stain]) -> str:
    """Describe the stains in one plain sentence, data set by data set."""
    parts = []
    for name in dict.fromkeys(stain.set for stain in stains):
        of_set = [stain for stain in stains if stain.set == name]
        # Two models may have learned from the same questions.
        reasons = dict.fromkeys(f"{stain.what} ({_format_share(stain)})" for stain in of_set)
        text = "; ".join(reasons)
        parts.append(f"*{name}*: {text}.")
    return " ".join(["**Not clean**, so no evidence of quality.", *parts])


def find_faults(
    published: Sequence[Published],
    pages: Path,
    unchecked: Sequence[str],
    undated: Sequence[str] = (),
) -> Iterator[str]:
    """Yield one line per fault of the published results.

    Args:
        published: All experiments that have a summary.
        pages: The folder of the pages.
        unchecked: Experiments that may be without scores, until they are made anew.
        undated: Experiments that may be without the digest of their code, until then.
    """
    # Many experiments have arms of the same code.
    is_current: Callable[[Code], bool] = cache(attrgetter("is_current"))
    for entry in published:
        name = entry.experiment.id
        yield from _find_other_code(entry, is_current, may_lack=name in undated)
        if not entry.questions:
            if name not in unchecked:
                yield f"{name}: no scores of its questions are published; make it anew"
        else:
            if name in unchecked:
                yield f"{name}: is checked now; take it off experiments/unchecked.toml"
            yield from _find_other_data(entry)
            yield from _find_other_means(entry)
            yield from _find_unmarked(entry)
        page = pages / f"{entry.experiment.paper}.md"
        if not page.is_file() or entry.note not in page.read_text(encoding="utf-8"):
            yield f"{name}: {page.name} does not say: {entry.note} (python -m experiments --pages)"
    by_id = {entry.experiment.id: entry for entry in published}
    for gone in sorted({*unchecked, *undated} - by_id.keys()):
        yield f"{gone}: is not published; take it off experiments/unchecked.toml"
    for headline in HEADLINES:
        yield from _check_headline(headline, by_id)


def find_models_without_manifest(models: Path, manifests: Path) -> Iterator[str]:
    """Return the shipped models whose training data are unknown.

    Args:
        models: The folder of the models' cards.
        manifests: The folder of the manifests.
    """
    for card in sorted(models.glob("**/cross-reader*.json")):
        file = locate_manifest(card, manifests)
        if not file.is_file():
            yield (
                f"{card.name}: no manifest {file.name} of what it learned from; "
                "training writes it (training/manifest.py)"
            )


def read_unchecked(file: Path, key: str = "experiments") -> tuple[str, ...]:
    """Return the experiments that `unchecked.toml` names below a key."""
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))[key])


def _format_share(stain: Stain) -> str:
    if stain.touched == stain.asked:
        return f"all {stain.asked} questions"
    return f"{stain.touched} of {stain.asked} questions"


def _find_other_code(
    entry: Published, is_current: Callable[[Code], bool], *, may_lack: bool
) -> Iterator[str]:
    """Yield a fault where the code of a row is not known, or has changed since it was asked."""
    name, codes = entry.experiment.id, entry.summary.codes
    dated = {row for code in codes for row in code.rows}
    rows = {(row["set"], row["corpus"], row["system"]) for row in entry.summary.rows}
    if rows <= dated and may_lack:
        yield f"{name}: has the digest of its code now; take it off experiments/unchecked.toml"
    if not rows <= dated and not may_lack:
        yield f"{name}: the digest of the code of its rows is not published; make it anew"
    old = {row for code in codes if not is_current(code.code) for row in code.rows}
    if not entry.experiment.current:
        if not old:
            yield f"{name}: is of today's code; take away current = false"
    elif old:
        systems = ", ".join(sorted({system for _, _, system in old}))
        yield f"{name}: the code of {systems} has changed since; make it anew"


def _find_other_data(entry: Published) -> Iterator[str]:
    planned = [data.set for data in entry.experiment.data]
    sets = list(dict.fromkeys(question.set for question in entry.questions))
    if planned != sets:
        yield (
            f"{entry.experiment.id}: its file asks {', '.join(planned)}, what is published is of "
            f"{', '.join(sets)}; make it anew"
        )


def _find_unmarked(entry: Published) -> Iterator[str]:
    for data in entry.experiment.data:
        clean = entry.is_clean(data.set)
        if not clean and data.clean:
            of_set = [stain for stain in entry.stains if stain.set == data.set]
            yield (
                f"{entry.experiment.id}: {describe_stains(of_set)} Ask other questions, "
                f"or say clean = false for {data.set}"
            )
        if clean and not data.clean:
            yield f"{entry.experiment.id}: {data.set} is clean; take away clean = false"


def _find_other_means(entry: Published) -> Iterator[str]:
    """Yield rows of the summary that are not the means of the published scores."""
    values: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for question in entry.questions:
        for score in question.scores:
            key = (question.set, score.get("corpus", ""), score["system"])
            values.setdefault(key, []).append(score)
    for row in entry.summary.rows:
        key = (row["set"], row["corpus"], row["system"])
        scores = values.get(key, [])
        wrong = len(scores) != row["queries"] or any(
            abs(fmean(score[name] for score in scores if name in score) - mean) > _NEAR
            for name, mean in row["measures"].items()
            if name in SCORES
        )
        if wrong:
            yield f"{entry.experiment.id}: the scores of {' '.join(filter(None, key))} are not its"


def _check_headline(headline: Headline, by_id: Mapping[str, Published]) -> Iterator[str]:
    """Check that a headline has default settings and questions that influenced nothing."""
    entry = by_id.get(headline.experiment)
    if entry is None:
        return
    where = f"README, {headline.measure} on {headline.set} ({headline.experiment})"
    if not entry.is_clean(headline.set):
        yield f"{where}: not clean; {entry.note}"
    arms = [arm for arm in entry.experiment.arms if arm.name == headline.arm]
    if any(arm.settings or arm.corpus for arm in arms):
        yield f"{where}: {headline.arm} does not have the default settings"
