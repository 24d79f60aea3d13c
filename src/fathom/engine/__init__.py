"""The facade of an index: ingestion, search and answers.

With the documents, traces and calibrations of the index.
"""

from fathom.engine.engine import Engine
from fathom.engine.request import AskOptions, AskRequest

__all__ = ["AskOptions", "AskRequest", "Engine"]
