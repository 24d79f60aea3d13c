"""The settings of the strategy `rrf`: reciprocal rank fusion of several retrievers."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import Section, constant


class RrfSettings(Section):
    """The settings and constants of `rrf`, as in the paper."""

    PAGE: ClassVar[str] = "docs/strategies/rrf.md"

    retrievers: tuple[RetrieverName, ...] = Field(
        default=("vector", "keyword", "hybrid", "keyword_feedback"), min_length=1
    )
    """The retrievers. The paper has BM25 and three embedding models; with two further ones in
    `retrieval.embedders` these are `vector`, `vector:ONE`, `vector:OTHER` and `keyword`. Only one
    model is shipped, so the defaults in their place are the weighted sum of vectors and words, and
    a second BM25 search with words from the hits of the first."""
    weights: tuple[Annotated[float, Field(ge=0)], ...] = constant(())
    """One weight for each retriever; empty for 1 each, as in the paper."""
    k: int = Field(default=4, ge=1)
    """The number of hits of each retriever."""
    rrf_k: int = constant(60, ge=0)
    """The constant in score = sum of weight / (rrf_k + rank), with ranks from 1."""
    contexts: int = constant(1, ge=1)
    """The number of fused hits that are read."""

    @model_validator(mode="after")
    def _check_retrievers(self) -> Self:
        """Check that each retriever is named once and that the weights are as many."""
        # A retriever named twice would only have twice its weight.
        if len(set(self.retrievers)) < len(self.retrievers):
            raise ValueError("rrf.retrievers names a retriever twice; name each once")
        if self.weights and len(self.weights) != len(self.retrievers):
            raise ValueError("rrf.weights must have one number for each of rrf.retrievers")
        return self
