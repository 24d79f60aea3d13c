"""The readiness of a server to answer questions, for `/readyz` and the log."""

import asyncio
import re

from fathom.engine import Engine
from fathom.errors import FathomError, IndexCorrupt, IndexMismatch, IndexMissing
from fathom.redaction import open_log
from fathom.serving.http.problems import Problem

LOG = open_log("fathom.serving")
PROBE_S = 5.0
"""The seconds after which a probe may ask again."""
_COMMAND = re.compile(r"`fathom [^`/\\]*`")
"""A command in a message, without a path."""
_REASONS: tuple[tuple[type[FathomError], str], ...] = (
    (IndexMismatch, "the index was made by another version of Fathom or with other settings"),
    (IndexCorrupt, "the index is damaged"),
    (FathomError, "the index or a model cannot be opened"),
)
"""The reason that a probe reports for each error, without a path; the first match counts."""


class Readiness:
    """The readiness of the default workspace to answer questions."""

    def __init__(self, engine: Engine) -> None:
        """Create the object; nothing is opened yet.

        Args:
            engine: The engine of the default workspace.
        """
        self._engine = engine
        self._are_models_tried = False
        self._checking: asyncio.Future[None] | None = None

    def load_models(self) -> None:
        """Load the models that a question needs, if there is an index to ask about.

        The log names what keeps questions from being answered, such as an index of an older
        version.
        """
        try:
            self._engine.reader(checked=False)
            self._engine.models.warm_up()
            self._engine.reader()
        except IndexMissing:
            return  # the first upload makes the index
        except FathomError as error:
            LOG.warning("no question can be answered: %s", error)
        finally:
            self._are_models_tried = True

    async def check(self) -> None:
        """Check that the index can be opened for questions, if there is one.

        Raises:
            Problem: If it cannot be.
        """
        # Probes that wait for a slow database must not take all threads of the server.
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(asyncio.to_thread(self._open_index))
        await asyncio.shield(self._checking)

    def _open_index(self) -> None:
        try:
            self._engine.reader(checked=False)
            # The check loads a model, for which a probe at the start does not wait.
            if self._are_models_tried:
                self._engine.reader()
        except IndexMissing:
            return
        except FathomError as error:
            raise build_unready_problem(error) from error


def build_unready_problem(error: FathomError) -> Problem:
    """Build the problem of a server that can answer no question.

    Everybody may send a probe, so the problem has no path.

    Args:
        error: What keeps the index from being opened.
    """
    reason = next(reason for kind, reason in _REASONS if isinstance(error, kind))
    command = _COMMAND.search(str(error))
    return Problem(
        503,
        "not_ready",
        f"no question can be answered: {reason}",
        next=f"run {command[0]}" if command else "`fathom doctor` names the cause",
        retry_after=PROBE_S,
    )
