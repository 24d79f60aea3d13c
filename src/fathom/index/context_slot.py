"""A value of an index for one question, visible to every thread with the question's context.

Threads carry the context if they are started with `contextvars.copy_context`, as
`asyncio.to_thread` and `RunContext.thread` do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

_VALUES: ContextVar[Mapping[object, object]] = ContextVar("held", default={})  # noqa: B039 - the mapping is never mutated


class ContextSlot(Generic[T]):
    """A slot of one owner, with at most one value in each context."""

    def get(self) -> T | None:
        """Return the value of this context; `None` if there is none."""
        return _VALUES.get().get(self)  # type: ignore[return-value]

    @contextmanager
    def hold(self, value: T | None) -> Iterator[None]:
        """Set the value while the `with` block lasts; `None` empties the slot."""
        # A new mapping each time: other contexts still hold the old one.
        token = _VALUES.set({**_VALUES.get(), self: value})
        try:
            yield
        finally:
            _VALUES.reset(token)
