"""What is learned of answers: calibrations, and what people say; kept with the index."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fathom.errors import RunError, UsageError
from fathom.extensions import check_name
from fathom.index.feedback import Feedback, key_of
from fathom.jsonable import canonical, digest
from fathom.library import Library
from fathom.runs.trace import Trace
from fathom.types import Query

if TYPE_CHECKING:  # what a question needs is imported when one is asked
    from fathom.assembly.calibrations import Chosen
    from fathom.calibration.law import Answered, Calibrated, Calibration

LATEST = 200
"""So many of the latest answers are looked at for drift."""


class Learning(Library):
    """A library that learns how sure answers are; see `Engine`."""

    @cached_property
    def _chosen(self) -> "dict[tuple[str, str], Chosen]":
        """The calibrations that were looked up already, by strategy and what the index keeps."""
        return {}

    def trace(self, trace_id: str) -> Trace:
        """The record of an answer: every step, every outside event.

        Args:
            trace_id: The id, or its beginning.

        Raises:
            TraceMissing: If there is no such trace.
            TraceTampered: If it is not what was stored.
        """
        return self.traces.get(trace_id)

    def calibration(self, strategy: str | None = None) -> "Chosen":
        """What says how sure the answers of a strategy are, by default of `ask.strategy`.

        Raises:
            IndexMissing: If nothing has been ingested.
            UsageError: If the index keeps a calibration that this version cannot read.
        """
        from fathom.assembly.calibrations import chosen

        name = strategy or self.settings.ask.strategy
        kept = self.reader().calibrations()
        key = name, kept.get(name, "")
        if key not in self._chosen:
            self._chosen[key] = chosen(self.assembly, name, kept)
        return self._chosen[key]

    def calibrations(self) -> "dict[str, Calibration]":
        """What the index keeps, by strategy, whether it counts with these settings or not."""
        from fathom.assembly.calibrations import loaded

        kept = self.reader(checked=False).calibrations()
        return {name: loaded(data, name) for name, data in kept.items()}

    def drift(self, strategy: str | None = None) -> tuple[str, ...]:
        """The signals that are spread otherwise in the latest answers than in the calibration.

        Of the index's own calibration, if it counts; nothing where too few were asked since.
        """
        name = strategy or self.settings.ask.strategy
        known = self.calibration(name).calibration
        if known is None or not known.drift.spreads or not self.has_traces():
            return ()
        return known.drift.moved(self.traces.signals(name, LATEST))

    def cautions(self, strategy: str, found: "Chosen") -> tuple[str, ...]:
        """Why the calibration of a strategy is not to be relied on, a line each."""
        if found.stale or found.calibration is None:
            return (found.stale,) if found.stale else ()
        try:
            moved = self.drift(strategy)
        except RunError:
            return ()  # the traces cannot be read, which is said where they are kept
        if not moved:
            return ()
        return (
            f"what is asked lately is not what {strategy} was calibrated on ({', '.join(moved[:3])}"
            " moved): its rates of errors may not hold; run `fathom calibrate` with such questions",
        )

    def calibrate(
        self,
        asked: "Sequence[Answered | None]",
        *,
        strategy: str | None = None,
        max_error: float | None = None,
        delta: float = 0.05,
        made_of: Mapping[str, Any] | None = None,
    ) -> "Calibrated":
        """Learn from recorded answers how sure answers are; kept with the index.

        `fathom.evaluation.calibration.calibrate` asks a file of questions and gives what comes
        of it to this.

        Args:
            asked: One for each question; `None` where it was not answered.
            strategy: That answered, by default `ask.strategy`.
            max_error: A rate of errors to certify beside the usual ones.
            delta: How often a certificate may fail.
            made_of: What the questions are, for `fathom status`.

        Raises:
            UsageError: If there are too few answers to learn from, or all are right, or none is.
            IndexLocked: If another process is writing.
        """
        from fathom.assembly.calibrations import calibrated

        name = strategy or self.settings.ask.strategy
        check_strategy(name)
        made = calibrated(
            self.assembly, name, asked, max_error=max_error, delta=delta, made_of=made_of or {}
        )
        self.keep_calibration(name, made.calibration)
        return made

    def feedback(
        self,
        trace_id: str,
        *,
        right: bool | None = None,
        answer: str = "",
        sources: Sequence[str] = (),
        note: str = "",
        counts: bool = True,
    ) -> Feedback:
        """Keep what a person says of an answer; see docs/calibration.md.

        What was verified is given again to the same question while the quotes that it rests on
        stand; `calibrate` learns from all of it.

        Args:
            trace_id: Of the answer: its id, or the beginning.
            right: Whether it was right.
            answer: What the right answer is, instead.
            sources: Documents that hold it, by id or path; by default those that the run cited.
            note: What else there is to say; kept for people.
            counts: Whether it may change what others are answered; see `Feedback`.

        Raises:
            UsageError: If neither or both of `right` and `answer` are given, or there is no
                answer to call right or wrong, or a source is no document, or it holds the answer
                where it does not answer the question, or an answer is told that does not count.
            Outranked: If it does not count, and what was said of the answer before does.
            TraceMissing: If there is no such trace.
            TraceTampered: If it is not what was stored.
        """
        from fathom.assembly.calibrations import made_for
        from fathom.strategies.verified import feedback_on

        if answer and not counts:
            raise UsageError("feedback: what does not count says right or wrong, no answer")
        trace = self.trace(trace_id)
        documents = [self.document(each) for each in sources]
        index = self.reader(checked=False)
        made, held = feedback_on(
            trace, right, answer.strip(), documents, index.document, self.assembly.answer_fit.fits
        )
        made = replace(made, made_for=made_for(self.assembly, trace), note=note)
        if not counts:
            made = replace(made, counts=False, again=None)
        self.traces.put_feedback(made, held=held)
        return made

    def labelled(self, strategy: str | None = None) -> "list[Answered | None]":
        """What people said of a strategy's answers, as far as they were given with these settings.

        `None` where there was an answer to be given and none was.
        """
        from fathom.assembly.calibrations import identity_of
        from fathom.calibration.law import Answered

        name = strategy or self.settings.ask.strategy
        own = digest(canonical(identity_of(self.assembly, name)))
        said = self.traces.feedback(strategy=name)
        return [
            None if each.right is None else Answered(each.signals, each.right)
            for each in said
            if each.made_for == own and each.signals and each.counts
        ]

    def verified(self, query: Query) -> dict[str, Any]:
        """What a person verified as the answer to a question, for the record of its run."""
        if not self.has_traces():
            return {}
        try:
            said = self.traces.feedback(key=key_of(query.text, query.filters))
        except RunError as error:
            logging.getLogger("fathom").warning("what people said is not known: %s", error)
            return {}
        known = [each for each in said if each.counts]
        given = [each for each in known if each.again is not None]
        refused = known and known[-1].said == "wrong"
        return {} if refused or not given else {"verified": given[-1].again}


def check_strategy(name: str) -> None:
    """Accept the name of a strategy.

    Raises:
        UsageError: If there is none of this name.
    """
    from fathom.strategies.base import STRATEGIES  # LangGraph takes a second to import

    if name not in STRATEGIES:
        check_name("strategy", name)
