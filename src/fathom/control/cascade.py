"""The cascade of MAF-RAG (Table I): accept the outcome of a phase, or escalate to a dearer phase.

The paper escalates to the debate when EVR is not sure. But agents have something to debate only
where documents differ. Therefore `conflict` leads there, from whatever phase sees it, and nothing
else does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from fathom.settings.maf import PHASES, DebateCause, MafSettings, Phase

CascadeAction = Literal["accept", "escalate", "give_up"]
CascadeReason = Literal[
    "CONFIDENT",
    "WEB_FOUND",
    "WEB_LOW_CONFIDENCE",
    "BELOW_THRESHOLD",
    "UNKNOWN",
    "CONFLICT",
    "NO_PHASE_LEFT",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeVerdict:
    """The decision about the outcome of a phase.

    Attributes:
        to: The next phase; `None` unless the action is `escalate`.
        low_confidence: Whether the accepted answer is to be marked as uncertain.
    """

    action: CascadeAction
    reason: CascadeReason
    to: Phase | None = None
    low_confidence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """The phases in the order in which they are tried, with the confidence that each must reach.

    Attributes:
        phases: The available phases, for example without `debate` for the baselines of Table II,
            without `web` where no web search is configured. Never empty, each once, in the order of
            `PHASES`.
        thresholds: The least confidence, in [0, 1], that is accepted from a phase. For `web` it
            only decides whether an answer is marked: every answer of the web search is accepted.
        debate_on: The cause of a debate.
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
        """Build the cascade of the settings; `web` is a phase only if there is a web search."""
        # Settings may name the web alone; without a web search one phase must remain.
        phases = tuple(phase for phase in settings.phases if phase != "web" or web) or ("vor",)
        return cls(
            phases=phases, thresholds=list_thresholds(settings), debate_on=settings.debate_on
        )

    def override_thresholds(self, overrides: Mapping[Phase, float]) -> "Cascade":
        """Return the cascade with the thresholds that a class of questions overrides."""
        return replace(self, thresholds={**self.thresholds, **overrides})

    def looks_for_conflict(self, phase: Phase) -> bool:
        """Return whether a conflict between documents matters after a phase."""
        return self.debate_on == "conflict" and "debate" in self._list_later_phases(phase)

    def list_next_phases(self, phase: Phase) -> tuple[Phase, ...]:
        """Return the phases that may follow: for lack of confidence first, then for a conflict."""
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
        """Accept the outcome of a phase, escalate, or give up.

        Args:
            phase: The phase that was just tried; one of `phases`.
            confidence: The confidence of its outcome, in [0, 1].
            has_answer: Whether it has an answer at all: `False` for a debate that ends in
                "unknown", and for a web search that finds nothing.
            conflict: Whether documents give different answers; ignored where no conflict is looked
                for.
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
        # Only a conflict may lead to the debate then: agents that agree have nothing to debate.
        if not next_phases or (next_phases[0] == "debate" and self.looks_for_conflict(phase)):
            return CascadeVerdict(action="give_up", reason="NO_PHASE_LEFT")
        return CascadeVerdict(
            action="escalate",
            reason="BELOW_THRESHOLD" if has_answer else "UNKNOWN",
            to=next_phases[0],
        )


def list_thresholds(settings: MafSettings) -> dict[Phase, float]:
    """Return the least confidence that is accepted from each phase."""
    return {
        "vor": settings.vor_threshold,
        "evr": settings.evr_threshold,
        "debate": settings.debate_threshold,
        "web": settings.web_threshold,
    }
