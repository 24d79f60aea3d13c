"""The composition root of all parts.

`Assembly` builds each part from the settings on first use. Only this room and the registry name the
implementations of protocols. There are three layers, each a subclass of the one before: models,
retrieval and agents. Modules are imported on use, because no question needs all of them.
"""

from fathom.assembly.agents import Assembly
from fathom.assembly.models import WARM

__all__ = ["WARM", "Assembly"]
