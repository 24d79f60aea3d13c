"""The composition root of all parts.

Makes every part from the settings, when it is first used. The implementations behind the protocols
are named here and nowhere else, on three floors: models, retrieval, agents. Modules are imported on
use, as no question needs all of them.
"""

from fathom.assembly.agents import Assembly
from fathom.assembly.models import WARM

__all__ = ["WARM", "Assembly"]
