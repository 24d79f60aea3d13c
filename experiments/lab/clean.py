"""Whether published rows are clean: nothing in them was learned from or chosen on.

A row is not clean if a question, or an article or document that it is about, is in the manifest of
a model's training, or if a constant of the system was chosen on the question. What is not clean
has to be said so in the experiment's file (`clean = false`) and in plain words on its page, and is
never a headline. All of it is checked from what is published and from the manifests: no data set
is needed.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Self

from experiments.lab.headlines import HEADLINES, Headline
from experiments.lab.plan import Experiment
from experiments.lab.prints import applies
from experiments.lab.scores import Scored, load
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
_NEAR = 2e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Stain:
    """Questions of a data set that had a part in what is measured on them.

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
    """An experiment as it is published.

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
        """What a folder holds of an experiment; `None` without a summary."""
        summary = Summary.load(folder, experiment)
        if summary is None:
            return None
        questions = load(folder, experiment.id)
        stains = tuple(stains_of(questions, manifests))
        return cls(experiment=experiment, summary=summary, questions=questions, stains=stains)

    @property
    def state(self) -> str:
        """Whether it is clean, in a word or two."""
        if not self.questions:
            return "not checked"
        if not self.stains:
            return "yes"
        stained = {stain.set for stain in self.stains}
        return "no" if stained == {question.set for question in self.questions} else "in part"

    @property
    def note(self) -> str:
        """What its page says of it."""
        if not self.questions:
            return UNCHECKED
        return told(self.stains) if self.stains else CLEAN

    def is_clean(self, name: str) -> bool:
        """Whether a data set's rows are known to be clean."""
        known = any(question.set == name for question in self.questions)
        return known and all(stain.set != name for stain in self.stains)


def stains_of(questions: Sequence[Scored], manifests: Sequence[Manifest]) -> Iterator[Stain]:
    """What is not clean, by data set and manifest."""
    for name in dict.fromkeys(question.set for question in questions):
        own = [question for question in questions if question.set == name]
        for manifest in manifests:
            touched = sum(
                applies(manifest, each.systems) and each.print.touched(manifest) for each in own
            )
            if touched:
                yield Stain(set=name, asked=len(own), touched=touched, what=manifest.what)


def told(stains: Sequence[Stain]) -> str:
    """One sentence in plain words, data set by data set."""
    parts = []
    for name in dict.fromkeys(stain.set for stain in stains):
        own = [stain for stain in stains if stain.set == name]
        text = "; ".join(f"{stain.what} ({_share(stain)})" for stain in own)
        parts.append(f"*{name}*: {text}.")
    return " ".join(["**Not clean**, so no evidence of quality.", *parts])


def faults(published: Sequence[Published], pages: Path, unchecked: Sequence[str]) -> Iterator[str]:
    """What is wrong with what is published, a line each; nothing where all is well.

    Args:
        published: All experiments that have a summary.
        pages: The folder of the pages.
        unchecked: Experiments that may be without scores, until they are made anew.
    """
    for each in published:
        name = each.experiment.id
        if not each.questions:
            if name not in unchecked:
                yield f"{name}: no scores of its questions are published; make it anew"
        else:
            if name in unchecked:
                yield f"{name}: is checked now; take it off experiments/unchecked.toml"
            yield from _other_data(each)
            yield from _other_means(each)
            yield from _unmarked(each)
        page = pages / f"{each.experiment.paper}.md"
        if not page.is_file() or each.note not in page.read_text(encoding="utf-8"):
            yield f"{name}: {page.name} does not say: {each.note} (python -m experiments --pages)"
    known = {each.experiment.id: each for each in published}
    for gone in sorted({*unchecked} - known.keys()):
        yield f"{gone}: is not published; take it off experiments/unchecked.toml"
    for headline in HEADLINES:
        yield from _headline(headline, known)


def without_manifest(models: Path, manifests: Path) -> Iterator[str]:
    """Shipped models of which nobody knows what they learned from.

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


def unchecked(file: Path) -> tuple[str, ...]:
    """The experiments that `unchecked.toml` names."""
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["experiments"])


def _share(stain: Stain) -> str:
    if stain.touched == stain.asked:
        return f"all {stain.asked} questions"
    return f"{stain.touched} of {stain.asked} questions"


def _other_data(each: Published) -> Iterator[str]:
    planned = [data.set for data in each.experiment.data]
    asked = list(dict.fromkeys(question.set for question in each.questions))
    if planned != asked:
        yield (
            f"{each.experiment.id}: its file asks {', '.join(planned)}, what is published is of "
            f"{', '.join(asked)}; make it anew"
        )


def _unmarked(each: Published) -> Iterator[str]:
    for data in each.experiment.data:
        clean = each.is_clean(data.set)
        if not clean and data.clean:
            own = [stain for stain in each.stains if stain.set == data.set]
            yield (
                f"{each.experiment.id}: {told(own)} Ask other questions, or say clean = false for "
                f"{data.set}"
            )
        if clean and not data.clean:
            yield f"{each.experiment.id}: {data.set} is clean; take away clean = false"


def _other_means(each: Published) -> Iterator[str]:
    """Rows of the summary that are not the means of the published scores."""
    values: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for question in each.questions:
        for score in question.scores:
            key = (question.set, score.get("corpus", ""), score["system"])
            values.setdefault(key, []).append(score)
    for row in each.summary.rows:
        key = (row["set"], row["corpus"], row["system"])
        own = values.get(key, [])
        wrong = len(own) != row["queries"] or any(
            abs(fmean(score[name] for score in own if name in score) - mean) > _NEAR
            for name, mean in row["measures"].items()
            if name in SCORES
        )
        if wrong:
            yield f"{each.experiment.id}: the scores of {' '.join(filter(None, key))} are not its"


def _headline(headline: Headline, known: Mapping[str, Published]) -> Iterator[str]:
    """A headline has default settings, and questions that had no part in anything."""
    each = known.get(headline.experiment)
    if each is None:
        return
    where = f"README, {headline.measure} on {headline.set} ({headline.experiment})"
    if not each.is_clean(headline.set):
        yield f"{where}: not clean; {each.note}"
    arms = [arm for arm in each.experiment.arms if arm.name == headline.arm]
    if any(arm.settings or arm.corpus for arm in arms):
        yield f"{where}: {headline.arm} does not have the default settings"
