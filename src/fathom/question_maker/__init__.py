"""Questions with answers, made from an index.

They serve to measure and to calibrate.
"""

from fathom.question_maker.base import KINDS, Kind, QuestionSet, SyntheticQuestion

__all__ = ["KINDS", "Kind", "QuestionSet", "SyntheticQuestion"]
