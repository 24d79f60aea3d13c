"""The judges that `fathom eval --judge` asks."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import UsageError
from fathom.serving.asked import counted, file_name

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.agreement import Agreement
    from fathom.evaluation.grading import Judgement
    from fathom.evaluation.judges import AnswerJudge
    from fathom.evaluation.records import Record
    from fathom.llm.call import RoleModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Which judges are asked.

    Attributes:
        names: Of judges.
        model: `provider:model` of those that need one; by default that of the role.
        labels: A file of labels to hold the judges against, beside the gold answers.
        folder: Where grades are kept, in `<data set>/<file of the records>.judged.jsonl`.
    """

    names: Sequence[str]
    model: str | None = None
    labels: Path | None = None
    folder: Path | None = None

    def check(self, strategies: Sequence[str]) -> None:
        """See to it that the judges are known and have something to judge.

        Raises:
            UsageError: If not.
        """
        if not self.names:
            if self.model or self.labels:
                raise UsageError("no judge is asked: add --judge NAME")
            return
        from fathom.evaluation.judges import JUDGES

        for name in self.names:
            if name not in JUDGES:
                raise UsageError(f"judge {name!r}: choose one of {', '.join(JUDGES)}")
        if not strategies:
            raise UsageError("judges grade the answers of strategies: add --strategy NAME")
        if self.labels is not None:
            from fathom.evaluation.agreement import load_labels

            load_labels(self.labels)

    def seated(self, engine: "Engine") -> "list[AnswerJudge]":
        """The judges, with the models of this engine.

        Raises:
            UsageError: If one needs a language model and none is named.
        """
        if not self.names:
            return []
        from fathom.evaluation.judges import SIMILARITY, LanguageJudge, SimilarityJudge

        return [
            SimilarityJudge(embedder=engine.embedder)
            if name == SIMILARITY
            else LanguageJudge(name=name, model=self._model(engine, name))
            for name in self.names
        ]

    def _model(self, engine: "Engine", judge: str) -> "RoleModel":
        named = self.model or engine.settings.llm.model
        found = None if self.model else engine.assembly.models.of("judge")
        if found is None and not named:
            raise UsageError(f"judge {judge} needs a language model: add --judge-model NAME")
        return found or engine.assembly.models.called(named)

    def graded(
        self, judges: "Sequence[AnswerJudge]", engine: "Engine", records: "Sequence[Record]"
    ) -> "list[Judgement]":
        """The grades of all judges for the answers of one strategy to one data set."""
        if not judges or not records:
            return []
        from fathom.evaluation.grading import Judgements, grade_all

        first = records[0]
        name = f"{file_name(first.strategy, first.varied)}.judged.jsonl"
        kept = Judgements(None if self.folder is None else self.folder / first.dataset / name)
        found: list[Judgement] = []
        for judge in judges:
            told = counted(f"{first.dataset} {first.system} {judge.name}", len(records))
            made = grade_all(records, judge, kept, budget=engine.assembly.budget, on_question=told)
            _tell_faults(made)
            found += made
        return found

    def believed(
        self, judgements: "Sequence[Judgement]", answered: "Sequence[Sequence[Record]]"
    ) -> "list[Agreement]":
        """How far the judges agree with the gold answers, and with the labels if there are any."""
        if not judgements:
            return []
        from fathom.evaluation.agreement import agreements, gold_labels, load_labels

        found = agreements(judgements, gold_labels(answered), source="the gold answers")
        if self.labels is not None:
            found += agreements(judgements, load_labels(self.labels), source=self.labels.name)
        return found


def _tell_faults(judgements: "Sequence[Judgement]") -> None:
    from fathom.evaluation.judges import NoGrade

    faults = [(each, each.outcome) for each in judgements if isinstance(each.outcome, NoGrade)]
    if faults:
        first, why = faults[0]
        sys.stderr.write(
            f"{first.dataset} {first.system}: {first.judge} gave no grade to {len(faults)} of "
            f"{len(judgements)} answers, which count 0; the first, {first.question}: {why.reason}\n"
        )
