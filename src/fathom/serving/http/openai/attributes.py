"""Attributes of files in vector stores, conditions on them, and the tool that searches files."""

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field

MOST_RESULTS = 50
"""The largest number of results of one search."""
Scalar = str | bool | int | float
Attributes = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)] | Scalar],
    Field(max_length=16),
]
ResultCount = Annotated[int, Field(ge=1, le=MOST_RESULTS)]
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


class OpenAIBody(BaseModel):
    """A request body that ignores unknown fields, because clients send many."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class AttributeComparison(OpenAIBody):
    """A condition on an attribute; a missing attribute, or one of another type, never meets it.

    For `nin`, an attribute of another type counts as not in the list.
    """

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str
    value: Scalar | list[Scalar]

    def is_met(self, attributes: Mapping[str, Scalar]) -> bool:
        """Return whether the attributes of a file meet the condition."""
        stored = attributes.get(self.key)
        if stored is None:
            return False
        values = self.value if isinstance(self.value, list) else [self.value]
        if self.type in {"in", "nin"}:
            is_in = any(_are_alike(stored, value) and stored == value for value in values)
            return is_in == (self.type == "in")
        compare = _COMPARISONS[self.type]
        return all(_are_alike(stored, value) and compare(stored, value) for value in values)


class AttributeConditions(OpenAIBody):
    """Several conditions, of which all or any must be met."""

    type: Literal["and", "or"]
    filters: list["AttributeFilter"] = Field(max_length=50)

    def is_met(self, attributes: Mapping[str, Scalar]) -> bool:
        """Return whether the attributes of a file meet the conditions."""
        met = (condition.is_met(attributes) for condition in self.filters)
        return all(met) if self.type == "and" else any(met)


AttributeFilter = Annotated[
    Union[AttributeComparison, AttributeConditions],  # noqa: UP007 - names a class that follows
    Field(discriminator="type"),
]
AttributeConditions.model_rebuild()


def _are_alike(stored: Scalar, value: Scalar) -> bool:
    """Return whether both values are texts, both are numbers, or both are booleans."""
    if isinstance(stored, bool) or isinstance(value, bool):
        return isinstance(stored, bool) and isinstance(value, bool)
    return isinstance(stored, str) == isinstance(value, str)


class RankingOptions(OpenAIBody):
    """The options of a ranking; only the least score of a result has an effect."""

    score_threshold: float = Field(default=0.0, ge=0, le=1)


class FileSearchTool(OpenAIBody):
    """The tool that limits an answer to the files of vector stores."""

    type: Literal["file_search"]
    vector_store_ids: list[str] = Field(min_length=1, max_length=20)
    filters: AttributeFilter | None = None
    max_num_results: ResultCount = MOST_RESULTS
