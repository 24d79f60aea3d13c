"""The facade: ingest, search and ask, with the documents, traces and calibrations of an index."""

from fathom.engine.engine import Engine
from fathom.engine.request import AskOptions, AskRequest

__all__ = ["AskOptions", "AskRequest", "Engine"]
