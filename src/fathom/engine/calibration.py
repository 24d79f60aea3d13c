"""The calibrations of an engine's answers, and people's feedback on the answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.engine.documents import Documents
from fathom.engine.opened_index import OpenedIndex
from fathom.engine.traces import Traces
from fathom.errors import RunError, UsageError
from fathom.extensions import find_entry
from fathom.index.feedback import Feedback, compute_question_key
from fathom.jsonable import dump_canonical, hash_text
from fathom.redaction import open_log
from fathom.types import Query

if TYPE_CHECKING:  # imported when a question is asked
    from fathom.assembly import Assembly
    from fathom.assembly.calibrations import CalibrationInForce
    from fathom.calibration.law import Calibration, CalibrationFit, LabelledAnswer

LATEST = 200
"""The latest answers that are compared with the calibration for drift."""


class Calibrations:
    """The calibrations of an engine, and the feedback that they learn from."""

    def __init__(
        self,
        index: OpenedIndex,
        documents: Documents,
        traces: Traces,
        assembly: Callable[[], "Assembly"],
    ) -> None:
        """Create the facade without opening anything."""
        self._index = index
        self._documents = documents
        self._traces = traces
        self._assembly = assembly
        self._current: dict[tuple[str, str], CalibrationInForce] = {}

    def get_current(self, strategy: str | None = None) -> "CalibrationInForce":
        """Return the calibration in force for a strategy, by default for `ask.strategy`.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If the index keeps a calibration that this version cannot read.
        """
        from fathom.assembly.calibrations import choose_calibration

        name = self._resolve_name(strategy)
        stored = self._index.reader().get_calibrations()
        # The stored text is part of the key, so a calibration that another process stores is
        # noticed.
        key = name, stored.get(name, "")
        if key not in self._current:
            self._current[key] = choose_calibration(self._assembly(), name, stored)
        return self._current[key]

    def list(self) -> "dict[str, Calibration]":
        """Return the calibrations stored with the index by strategy, whether in force or not."""
        from fathom.assembly.calibrations import parse_calibration

        stored = self._index.reader(checked=False).get_calibrations()
        return {name: parse_calibration(data, name) for name, data in stored.items()}

    def learn(
        self,
        answers: "Sequence[LabelledAnswer | None]",
        *,
        strategy: str | None = None,
        max_error: float | None = None,
        delta: float = 0.05,
        made_of: Mapping[str, Any] | None = None,
    ) -> "CalibrationFit":
        """Learn the probability of being right from recorded answers, and store it with the index.

        `fathom.evaluation.calibration.calibrate` asks a file of questions and passes its answers.

        Args:
            answers: One for each question; `None` where it was not answered.
            strategy: The strategy that answered, by default `ask.strategy`.
            max_error: A rate of errors to certify beside the usual ones.
            delta: The probability that a certificate fails.
            made_of: A description of the questions, for `fathom status`.

        Raises:
            UsageError: If there are too few answers to learn from, or all are right, or none is.
            IndexLocked: If another process is writing.
        """
        from fathom.assembly.calibrations import learn_calibration

        name = self._resolve_name(strategy)
        find_entry("strategy", name)
        learned = learn_calibration(
            self._assembly(), name, answers, max_error=max_error, delta=delta, made_of=made_of or {}
        )
        self.store(name, learned.calibration)
        return learned

    def store(self, strategy: str, calibration: "Calibration") -> None:
        """Store a calibration with the index, in place of an older one of the strategy."""
        data = json.dumps(calibration.to_json(), ensure_ascii=False, sort_keys=True)
        self._index.refuse_viewer("changes of the index")
        with self._index.place.open_writer(None) as writer:
            writer.keep_calibration(strategy, data)

    def find_drift(self, strategy: str | None = None) -> tuple[str, ...]:
        """Return the signals that spread differently in the latest answers than when calibrated.

        Only the index's own calibration is checked, while it is in force; the result is empty
        where too few questions were asked since.
        """
        name = self._resolve_name(strategy)
        calibration = self.get_current(name).calibration
        if calibration is None or not calibration.drift.spreads or not self._traces.exist():
            return ()
        return calibration.drift.find_moved_signals(self._traces.store.list_signals(name, LATEST))

    def list_cautions(self, strategy: str, current: "CalibrationInForce") -> tuple[str, ...]:
        """Return the reasons not to rely on the calibration of a strategy, a line each."""
        if current.stale or current.calibration is None:
            return (current.stale,) if current.stale else ()
        try:
            moved = self.find_drift(strategy)
        except RunError:
            return ()  # the traces cannot be read; storing the next trace reports that
        if not moved:
            return ()
        return (
            f"recent questions differ from those {strategy} was calibrated on "
            f"({', '.join(moved[:3])} moved): its error rates may not hold; "
            "run `fathom calibrate` with such questions",
        )

    def add_feedback(
        self,
        trace_id: str,
        *,
        right: bool | None = None,
        answer: str = "",
        sources: Sequence[str] = (),
        note: str = "",
        counts: bool = True,
        owner: str = "",
    ) -> Feedback:
        """Store what a person says of an answer.

        A verified answer is given again to the same question while the quotes that it rests on
        stand; calibration learns from all feedback.

        Args:
            trace_id: The id of the answer's trace, or its beginning.
            right: Whether the answer was right.
            answer: The right answer, in place of the one given.
            sources: The documents that hold it, by id or path; by default those that the run cited.
            note: A remark for people.
            counts: Whether the feedback may change what others are answered.
            owner: As for `Traces.get`.

        Raises:
            UsageError: If neither or both of `right` and `answer` are given, or there is no
                answer to call right or wrong, or a source is no document, or it holds the answer
                where that does not answer the question, or an answer is given that does not count.
            OutrankedFeedbackError: If it does not count, and earlier feedback on the answer does.
            MissingTraceError: If there is no such trace.
            TamperedTraceError: If the trace is not what was stored.
        """
        from fathom.agents.answer_fit import AnswerFit
        from fathom.assembly.calibrations import hash_identity
        from fathom.strategies.verified import build_feedback

        if answer and not counts:
            raise UsageError(
                "feedback: feedback that does not count can say right or wrong, but give no answer"
            )
        trace = self._traces.get(trace_id, owner=owner)
        documents = [self._documents.get(source) for source in sources]
        index = self._index.reader(checked=False)
        fits = AnswerFit.of(self._assembly()).answers_question
        feedback, held = build_feedback(
            trace, right, answer.strip(), documents, index.get_document, fits
        )
        feedback = replace(feedback, made_for=hash_identity(self._assembly(), trace), note=note)
        if not counts:
            feedback = replace(feedback, counts=False, again=None)
        self._traces.put_feedback(feedback, held, owner=owner)
        return feedback

    def label_answers(self, strategy: str | None = None) -> "Sequence[LabelledAnswer | None]":
        """Return the answers of a strategy that people judged, given with these settings.

        An entry is `None` where an answer was to be given and none was.
        """
        from fathom.assembly.calibrations import describe_identity
        from fathom.calibration.law import LabelledAnswer

        name = self._resolve_name(strategy)
        identity = hash_text(dump_canonical(describe_identity(self._assembly(), name)))
        return [
            None if feedback.right is None else LabelledAnswer(feedback.signals, feedback.right)
            for feedback in self._traces.store.list_feedback(strategy=name)
            if feedback.made_for == identity and feedback.signals and feedback.counts
        ]

    def find_verified(self, query: Query) -> dict[str, Any]:
        """Return what a person verified as the answer to a question, for the record of its run."""
        if not self._traces.exist():
            return {}
        try:
            feedback = self._traces.store.list_feedback(
                key=compute_question_key(query.text, query.filters)
            )
        except RunError as error:
            open_log("fathom").warning("the feedback cannot be read: %s", error)
            return {}
        counted = [entry for entry in feedback if entry.counts]
        verified = [entry.again for entry in counted if entry.again is not None]
        # The latest word counts: an answer verified once may have become wrong since.
        refused = counted and counted[-1].said == "wrong"
        return {} if refused or not verified else {"verified": verified[-1]}

    def _resolve_name(self, strategy: str | None) -> str:
        return strategy or self._assembly().settings.ask.strategy
