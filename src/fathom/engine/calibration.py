"""The calibrations of an engine's answers, and the feedback of people on the answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.engine.documents import Documents
from fathom.engine.opened_index import OpenedIndex
from fathom.engine.traces import Traces
from fathom.errors import RunError, UsageError
from fathom.extensions import find_entry
from fathom.index.feedback import Feedback, list_question_keys
from fathom.jsonable import dump_canonical, hash_text
from fathom.redaction import open_log
from fathom.types import Query

if TYPE_CHECKING:  # imported when a question is asked
    from fathom.assembly import Assembly
    from fathom.assembly.calibrations import CalibrationInForce
    from fathom.calibration.law import Calibration, CalibrationFit, LabelledAnswer

LATEST = 200
"""The number of the latest answers that are compared with the calibration for drift."""


class Calibrations:
    """The calibrations of an engine, and the feedback that they are learned from."""

    def __init__(
        self,
        index: OpenedIndex,
        documents: Documents,
        traces: Traces,
        assembly: Callable[[], "Assembly"],
    ) -> None:
        """Create the facade without opening anything.

        Args:
            index: The index of the engine.
            documents: The documents of the engine.
            traces: The traces of the engine.
            assembly: The function that returns the parts of the engine.
        """
        self._index = index
        self._documents = documents
        self._traces = traces
        self._assembly = assembly
        self._current: dict[tuple[str, str], CalibrationInForce] = {}

    def get_current(self, strategy: str | None = None) -> "CalibrationInForce":
        """Return the calibration in force for a strategy.

        Args:
            strategy: The name of the strategy; by default `ask.strategy`.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If the index has a calibration that this version cannot read.
        """
        from fathom.assembly.calibrations import choose_calibration

        name = self._resolve_name(strategy)
        stored = self._index.reader().get_calibrations()
        # The stored text is part of the key, so that a calibration of another process is noticed.
        key = name, stored.get(name, "")
        if key not in self._current:
            self._current[key] = choose_calibration(self._assembly(), name, stored)
        return self._current[key]

    def list(self) -> "dict[str, Calibration]":
        """Return all calibrations stored with the index, by strategy, also those not in force.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If this version cannot read one of them.
        """
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
        """Learn a calibration from labelled answers, and store it with the index.

        `fathom.evaluation.calibration.calibrate` asks a file of questions and passes its answers.

        Args:
            answers: One entry for each question; `None` for a question that was not answered.
            strategy: The strategy that answered; by default `ask.strategy`.
            max_error: A rate of errors to certify besides the usual ones, in [0, 1].
            delta: The probability that a certificate does not hold, in [0, 1].
            made_of: A description of the questions, for `fathom status`.

        Raises:
            UsageError: If there is no such strategy, if there are too few answers to learn from, or
                if all answers are right or all are wrong.
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
        """Store a calibration with the index; it replaces an older one of the strategy.

        Raises:
            UsageError: If the index is read on behalf of a viewer.
            IndexLocked: If another process is writing.
        """
        data = json.dumps(calibration.to_json(), ensure_ascii=False, sort_keys=True)
        self._index.refuse_viewer("changes of the index")
        with self._index.place.open_writer(None) as writer:
            writer.keep_calibration(strategy, data)

    def find_drift(self, strategy: str | None = None) -> tuple[str, ...]:
        """Return the names of signals whose distribution has changed since the calibration.

        The signals of the latest `LATEST` answers are compared. Only the index's own calibration is
        checked, and only while it is in force.

        Args:
            strategy: The name of the strategy; by default `ask.strategy`.

        Returns:
            The names, the largest change first; empty if too few questions were asked.
        """
        name = self._resolve_name(strategy)
        calibration = self.get_current(name).calibration
        if calibration is None or not calibration.drift.spreads or not self._traces.exist():
            return ()
        return calibration.drift.find_moved_signals(self._traces.store.list_signals(name, LATEST))

    def list_cautions(self, strategy: str, current: "CalibrationInForce") -> tuple[str, ...]:
        """Return the reasons not to rely on the calibration of a strategy, one line each."""
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
        """Store the feedback of a person on an answer: right, wrong, or another answer.

        An answer that is verified so is given again to the same question as long as its quotes are
        in the documents. Calibrations learn from all feedback that counts.

        Args:
            trace_id: The id of the answer's trace, or its beginning.
            right: Whether the answer was right; `None` if `answer` is given.
            answer: The right answer; empty if `right` is given.
            sources: The documents that contain the right answer, by id or path; by default those
                that the run cited.
            note: A remark for people.
            counts: Whether the feedback may change the answers to others.
            owner: The name of the key that gives it, as for `Traces.get`.

        Returns:
            The stored feedback.

        Raises:
            UsageError: If neither or both of `right` and `answer` are given, if `right` is given
                though the run gave no answer or several readings, if `answer` is given though the
                feedback does not count, if a source is no document, or if the documents contain
                the answer only where it does not answer the question.
            OutrankedFeedbackError: If the feedback does not count but earlier feedback on the
                answer does.
            MissingTraceError: If there is no such trace.
            TamperedTraceError: If the trace was changed after it was stored.
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
        """Return the answers of a strategy on which people gave feedback, to learn from.

        Only answers that were given with these settings are returned, and only feedback that
        counts.

        Args:
            strategy: The name of the strategy; by default `ask.strategy`.

        Returns:
            One entry for each feedback; `None` if the run gave no answer, or several readings, and
            the person gave the right one.
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
        """Return the answer to a question that a person verified, as an argument of its run.

        Args:
            query: The question with its conditions on the documents; both must be the same as then.

        Returns:
            An object with the answer under `verified`; empty if there is none, or if the latest
            feedback on the question calls an answer wrong.
        """
        if not self._traces.exist():
            return {}
        try:
            feedback = self._traces.store.list_feedback(
                keys=list_question_keys(query.text, query.filters)
            )
        except RunError as error:
            open_log("fathom").warning("the feedback cannot be read: %s", error)
            return {}
        counted = [entry for entry in feedback if entry.counts]
        verified = [entry.again for entry in counted if entry.again is not None]
        # The latest feedback decides, because a verified answer may have become wrong since.
        refused = counted and counted[-1].said == "wrong"
        return {} if refused or not verified else {"verified": verified[-1]}

    def _resolve_name(self, strategy: str | None) -> str:
        """Return the name of a strategy; by default `ask.strategy`."""
        return strategy or self._assembly().settings.ask.strategy
