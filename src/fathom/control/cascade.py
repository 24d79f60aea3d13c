"""The cascade of MAF-RAG (Table I): accept the outcome of a phase, or escalate to a dearer phase.

In the paper, an outcome of EVR below its threshold leads to the debate (`debate_on = "doubt"`). By
default (`"conflict"`) only documents that give different answers lead there, from any earlier
phase, because agents that agree have nothing to debate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from fathom.settings.maf import PHASES, DebateCause, MafSettings, Phase

CascadeAction = Literal["accept", "escalate", "give_up"]
CascadeReason = Literal[
    # The outcome is accepted.
    "CONFIDENT",  # its confidence reaches the threshold of the phase
    "WEB_FOUND",  # the same, in the phase `web`
    "WEB_LOW_CONFIDENCE",  # the web has an answer, but below the threshold
    # The next phase is tried.
    "BELOW_THRESHOLD",
    "UNKNOWN",  # there is no answer, however high the confidence
    "CONFLICT",  # documents give different answers, which leads to the debate
    # The cascade gives up.
    "NO_PHASE_LEFT",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeVerdict:
    """The decision about the outcome of a phase.

    Attributes:
        to: The next phase; `None` unless the action is `escalate`.
        low_confidence: Whether the accepted answer must be marked as uncertain; only an answer of
            the web can be.
    """

    action: CascadeAction
    reason: CascadeReason
    to: Phase | None = None
    low_confidence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """The phases in the order in which they are tried, with the confidence that each must reach.

    Attributes:
        phases: The available phases: at least one, each once, in the order of `PHASES`. The
            baselines of Table II have no `debate`; without a web search there is no `web`.
        thresholds: The least confidence, in [0, 1], that is accepted from a phase. For `web` it
            only decides whether an answer is marked: every answer of the web search is accepted.
        debate_on: The cause of a debate: `conflict` of documents, or `doubt` as in the paper.

    Raises:
        ValueError: If there is no phase, or the phases are not in the order of `PHASES`.
    """

    phases: tuple[Phase, ...] = ("vor", "evr", "debate")
    thresholds: Mapping[Phase, float] = field(
        default_factory=lambda: list_thresholds(MafSettings())
    )
    debate_on: DebateCause = "conflict"

    def __post_init__(self) -> None:
        ordered = tuple(phase for phase in PHASES if phase in self.phases)
        if not self.phases or ordered != self.phases:
            raise ValueError(f"phases {self.phases} must be some of {PHASES}, in this order")

    @classmethod
    def from_settings(cls, settings: MafSettings, *, web: bool) -> Self:
        """Build the cascade of the settings.

        Args:
            settings: The settings.
            web: Whether a web search is configured; without one there is no phase `web`.
        """
        # The settings may name `web` alone, but a cascade needs at least one phase.
        phases = tuple(phase for phase in settings.phases if phase != "web" or web) or ("vor",)
        return cls(
            phases=phases, thresholds=list_thresholds(settings), debate_on=settings.debate_on
        )

    def override_thresholds(self, overrides: Mapping[Phase, float]) -> "Cascade":
        """Return the cascade with the thresholds that a class of questions overrides."""
        return replace(self, thresholds={**self.thresholds, **overrides})

    def looks_for_conflict(self, phase: Phase) -> bool:
        """Return whether a conflict between documents would lead from a phase to the debate."""
        return self.debate_on == "conflict" and "debate" in self._list_later_phases(phase)

    def list_next_phases(self, phase: Phase) -> tuple[Phase, ...]:
        """Return the phases that may follow a phase.

        Returns:
            The next phase for lack of confidence, if there is one; then `debate`, if a conflict
            would lead there.
        """
        above = self._list_later_phases(phase)
        if not self.looks_for_conflict(phase):
            return above[:1]
        return (*[candidate for candidate in above if candidate != "debate"][:1], "debate")

    def _list_later_phases(self, phase: Phase) -> tuple[Phase, ...]:
        """Return the phases after this one, in order."""
        return self.phases[self.phases.index(phase) + 1 :]

    def decide(
        self, phase: Phase, confidence: float, *, has_answer: bool = True, conflict: bool = False
    ) -> CascadeVerdict:
        """Decide whether to accept the outcome of a phase, to escalate, or to give up.

        Args:
            phase: The phase that was just tried; one of `phases`.
            confidence: The confidence of its outcome, in [0, 1].
            has_answer: Whether it has an answer at all: `False` for a debate that ends in
                "unknown", and for a web search that finds nothing.
            conflict: Whether documents give different answers; ignored unless
                `looks_for_conflict(phase)`.
        """
        if conflict and self.looks_for_conflict(phase):
            return CascadeVerdict(action="escalate", reason="CONFLICT", to="debate")
        is_sure = confidence >= self.thresholds[phase]
        if has_answer and phase == "web":
            reason: CascadeReason = "WEB_FOUND" if is_sure else "WEB_LOW_CONFIDENCE"
            return CascadeVerdict(action="accept", reason=reason, low_confidence=not is_sure)
        if has_answer and is_sure:
            return CascadeVerdict(action="accept", reason="CONFIDENT")
        next_phases = self.list_next_phases(phase)[:1]
        # With `debate_on = "conflict"`, lack of confidence never leads to the debate: agents that
        # agree have nothing to debate.
        if not next_phases or (next_phases[0] == "debate" and self.looks_for_conflict(phase)):
            return CascadeVerdict(action="give_up", reason="NO_PHASE_LEFT")
        return CascadeVerdict(
            action="escalate",
            reason="BELOW_THRESHOLD" if has_answer else "UNKNOWN",
            to=next_phases[0],
        )


def list_thresholds(settings: MafSettings) -> dict[Phase, float]:
    """Return the least confidence, in [0, 1], that is accepted from each phase."""
    return {
        "vor": settings.vor_threshold,
        "evr": settings.evr_threshold,
        "debate": settings.debate_threshold,
        "web": settings.web_threshold,
    }
