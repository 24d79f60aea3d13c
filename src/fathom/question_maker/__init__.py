"""Questions made of the documents of an index, with their answers, to measure and to calibrate."""

from fathom.question_maker.base import KINDS, Kind, Made, MadeQuestion

__all__ = ["KINDS", "Kind", "Made", "MadeQuestion"]
