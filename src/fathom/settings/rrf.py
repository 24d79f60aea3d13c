"""Settings of the strategy `rrf`: the rankings of several retrievers, fused by reciprocal rank."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fathom.settings.retrievers import Name
from fathom.settings.section import Section


class RrfSettings(Section):
    """The constants of `rrf`, as the paper has them."""

    retrievers: tuple[Name, ...] = Field(
        default=("vector", "keyword", "hybrid", "keyword_feedback"), min_length=1
    )
    """The paper has BM25 and three embedding models: with two more in `retrieval.embedders` that is
    `vector`, `vector:ONE`, `vector:OTHER`, `keyword`. One model is shipped; so by default the
    others are the weighted sum of both legs, and BM25 a second time with words of what it found."""
    weights: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """One for each retriever; empty for 1 each, as in the paper."""
    k: int = Field(default=4, ge=1)
    """Candidates of each retriever."""
    rrf_k: int = Field(default=60, ge=0)
    """score = sum of weight / (rrf_k + rank), rank from 1."""
    contexts: int = Field(default=1, ge=1)
    """How many of the fused hits are read."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.retrievers)) < len(self.retrievers):
            raise ValueError("rrf.retrievers names one of them twice; name each once")
        if self.weights and len(self.weights) != len(self.retrievers):
            raise ValueError("rrf.weights must have one number for each of rrf.retrievers")
        return self
