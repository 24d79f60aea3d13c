"""Settings of the strategy `adaptive`: a planner chooses what to do after a first look."""

from pydantic import Field

from fathom.settings.retrievers import Name
from fathom.settings.section import Section, Share


class AdaptiveSettings(Section):
    """The constants of `adaptive`; what its executors share with other strategies is set there."""

    policy: str = "rules"
    """Who chooses: `rules`, `learned` (the shipped one), or the file of one that was trained."""
    forced: tuple[str, ...] = ()
    """These executors instead, in this order, and then an end; for measurements."""
    executors: int = Field(default=3, ge=0, le=3)
    """At most so many work on a question."""
    retriever: Name = "hybrid"
    """What the first look, and every further search, asks."""
    pool: int = Field(default=24, ge=1, le=1000)
    """So many hits a search gives; `ask.chunks` of them are read, `deeper` looks at all."""
    min_share: Share = 0.2
    """Of a debate: readings with less than this share of the leading one's score are dropped."""
