"""The judgements of openevals that can be computed without a language model.

The RRF paper (section IV) has a model grade correctness, conciseness, hallucination and similarity.
Here correctness is `right` or `F1` against the gold answers, hallucination `support`, similarity
the cosine that the local judge computes; for conciseness there is only the number of `words`.
"""

from dataclasses import replace
from functools import cache
from statistics import fmean

from experiments.lab.results import Cell

from fathom.evaluation.grading import MEASURE_PREFIX, Judgements, add_grades, grade_all
from fathom.evaluation.judges import SIMILARITY, SimilarityJudge
from fathom.evaluation.rows import SystemScores
from fathom.evaluation.statistics import bca_interval
from fathom.models.caching_embedder import CachedEmbedder
from fathom.models.embedder import load_embedder

WORDS = "words"


def grade_cell(cell: Cell) -> SystemScores:
    """Return the measures of a cell, with `similarity` and the mean `words`.

    Similarity is 0 where an answer was wanted and none given, 1 where none was wanted nor given.
    """
    if cell.records[0].is_ranking:
        return cell.row
    row = add_grades(cell.row, grade_all(cell.records, _judge(), Judgements()))
    graded = MEASURE_PREFIX + SIMILARITY
    measures, intervals = dict(row.measures), dict(row.intervals)
    if graded in measures:
        measures[SIMILARITY], intervals[SIMILARITY] = measures[graded], intervals[graded]
    lengths = [
        float(len(record.plain_text.split())) for record in cell.records if record.is_answered
    ]
    if lengths:
        measures[WORDS], intervals[WORDS] = fmean(lengths), bca_interval(lengths)
    return replace(row, measures=measures, intervals=intervals)


@cache
def _judge() -> SimilarityJudge:
    """Return a caching judge, since systems repeat answers and share gold answers."""
    return SimilarityJudge(embedder=CachedEmbedder(load_embedder()))
