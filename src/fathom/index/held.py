"""What a question holds of an index while it lasts, found by every thread that carries its context.

Threads carry it where they are started with `contextvars.copy_context`, as `asyncio.to_thread` and
`RunContext.thread` do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

_HELD: ContextVar[Mapping[object, object]] = ContextVar("held", default={})  # noqa: B039 - never changed


class Held(Generic[T]):
    """At most one value of each context, for one owner."""

    def get(self) -> T | None:
        """What is held here, if anything is."""
        return _HELD.get().get(self)  # type: ignore[return-value]

    @contextmanager
    def holding(self, value: T | None) -> Iterator[None]:
        """Hold a value while the `with` block lasts."""
        token = _HELD.set({**_HELD.get(), self: value})
        try:
            yield
        finally:
            _HELD.reset(token)
