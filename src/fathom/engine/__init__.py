"""The facade of an index: ingestion, search and answers.

`Engine` has the main acts; its attributes `documents`, `sources`, `traces` and `calibration` have
the others.
"""

from fathom.engine.engine import Engine
from fathom.engine.request import AskOptions, AskRequest

__all__ = ["AskOptions", "AskRequest", "Engine"]
