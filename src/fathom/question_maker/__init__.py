"""Questions made of the documents of an index, with their answers, to measure and to calibrate."""

from fathom.question_maker.base import KINDS, Kind, QuestionSet, SyntheticQuestion

__all__ = ["KINDS", "Kind", "QuestionSet", "SyntheticQuestion"]
