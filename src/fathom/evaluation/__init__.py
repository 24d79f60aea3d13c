"""How good it is: data sets, the harness that measures on them, and reports."""

from fathom.evaluation.datasets import Dataset, Question, load
from fathom.evaluation.harness import Evaluation, evaluate
from fathom.evaluation.rows import Row

__all__ = ["Dataset", "Evaluation", "Question", "Row", "evaluate", "load"]
