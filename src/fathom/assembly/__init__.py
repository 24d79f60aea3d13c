"""Assembly: the one composition root; builds every part from the settings, when it is first needed.

What stands behind the protocols is known here alone, on three floors: models, retrieval, agents.
Parts are imported by who asks for them, as no question needs all of them.
"""

from fathom.assembly.agents import Assembly
from fathom.assembly.models import WARM
from fathom.assembly.retrieval import RETRIEVERS

__all__ = ["RETRIEVERS", "WARM", "Assembly"]
