"""The cascade of MAF-RAG (Table I): accept what a phase found, or climb to a dearer one.

The paper climbs to the debate when EVR is not sure. But agents have something to debate where
documents differ, so `conflict` leads there, from whatever phase it is seen in, and nothing else.
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
    """What to do with the outcome of a phase.

    Attributes:
        to: The phase to climb to; `None` unless the action is `escalate`.
        low_confidence: The answer is accepted, but to be marked as uncertain.
    """

    action: CascadeAction
    reason: CascadeReason
    to: Phase | None = None
    low_confidence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """The phases in the order in which they are tried, and what each must reach.

    Attributes:
        phases: Those that are there, for example without `debate` for the baselines of Table II,
            without `web` where no web search is configured. Never empty, each once, in the order
            of `PHASES`.
        thresholds: The least confidence, in [0, 1], that is accepted from a phase. For `web` it
            only decides whether an answer is marked: anything found is accepted.
        debate_on: What leads to the debate.
    """

    phases: tuple[Phase, ...] = ("vor", "evr", "debate")
    thresholds: Mapping[Phase, float] = field(default_factory=lambda: thresholds_of(MafSettings()))
    debate_on: DebateCause = "conflict"

    def __post_init__(self) -> None:
        ordered = tuple(phase for phase in PHASES if phase in self.phases)
        if not self.phases or ordered != self.phases:
            raise ValueError(f"phases {self.phases} must be some of {PHASES}, in this order")

    @classmethod
    def of(cls, settings: MafSettings, *, web: bool) -> Self:
        """The cascade of these settings; the web is a phase only where there is a web search."""
        phases = tuple(phase for phase in settings.phases if phase != "web" or web) or ("vor",)
        return cls(phases=phases, thresholds=thresholds_of(settings), debate_on=settings.debate_on)

    def overridden(self, own: Mapping[Phase, float]) -> "Cascade":
        """The same cascade with the thresholds that a class of questions has of its own."""
        return replace(self, thresholds={**self.thresholds, **own})

    def looks_for_conflict(self, phase: Phase) -> bool:
        """Whether it matters, after a phase, that documents give different answers."""
        return self.debate_on == "conflict" and "debate" in self._above(phase)

    def leads_to(self, phase: Phase) -> tuple[Phase, ...]:
        """The phases that may come next after one: for want of confidence, and in conflict."""
        above = self._above(phase)
        if not self.looks_for_conflict(phase):
            return above[:1]
        return (*[each for each in above if each != "debate"][:1], "debate")

    def _above(self, phase: Phase) -> tuple[Phase, ...]:
        return self.phases[self.phases.index(phase) + 1 :]

    def verdict(
        self, phase: Phase, confidence: float, *, known: bool = True, conflict: bool = False
    ) -> CascadeVerdict:
        """Accept the outcome of a phase, climb, or give up.

        Args:
            phase: The one that was just tried; one of `phases`.
            confidence: Of its outcome, in [0, 1].
            known: Whether it has an answer at all: `False` for a debate that ends in "unknown",
                and for a web search that finds nothing.
            conflict: Whether documents give different answers; asked only where it is looked for.
        """
        if conflict and self.looks_for_conflict(phase):
            return CascadeVerdict(action="escalate", reason="CONFLICT", to="debate")
        enough = confidence >= self.thresholds[phase]
        if known and phase == "web":
            reason: CascadeReason = "WEB_FOUND" if enough else "WEB_LOW_CONFIDENCE"
            return CascadeVerdict(action="accept", reason=reason, low_confidence=not enough)
        if known and enough:
            return CascadeVerdict(action="accept", reason="CONFIDENT")
        to = self.leads_to(phase)[:1]
        if not to or (to[0] == "debate" and self.looks_for_conflict(phase)):
            return CascadeVerdict(action="give_up", reason="NO_PHASE_LEFT")
        return CascadeVerdict(
            action="escalate", reason="BELOW_THRESHOLD" if known else "UNKNOWN", to=to[0]
        )


def thresholds_of(settings: MafSettings) -> dict[Phase, float]:
    """The least confidence that is accepted from each phase."""
    return {
        "vor": settings.vor_threshold,
        "evr": settings.evr_threshold,
        "debate": settings.debate_threshold,
        "web": settings.web_threshold,
    }
