"""The maker of test questions from the documents of an index.

Its questions, with answers or without, serve to measure and to calibrate.
"""

from fathom.question_maker.base import KINDS, Kind, QuestionSet, SyntheticQuestion

__all__ = ["KINDS", "Kind", "QuestionSet", "SyntheticQuestion"]
