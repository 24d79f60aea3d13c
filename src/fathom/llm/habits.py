"""What a server turns out not to understand, told from its refusals."""

from dataclasses import replace

from fathom.llm.faults import said, status_of
from fathom.llm.request import Habits

_WORSE = {"json_schema": "json_object", "json_object": "prompt"}


def unlearned(habits: Habits, error: Exception) -> Habits:
    """`habits` without the option that a server's 400 or 422 complains of; else as they were."""
    if status_of(error) not in {400, 422}:
        return habits
    words = said(error).lower()
    if any(word in words for word in ("response_format", "json_schema", "json_object")):
        return replace(habits, schema=_WORSE.get(habits.schema, "prompt"))
    if "stream_options" in words or "include_usage" in words:
        return replace(habits, usage=False)
    if "temperature" in words:
        return replace(habits, steady=False)
    if "seed" in words:
        return replace(habits, seed=False)
    return habits
