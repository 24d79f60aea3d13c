"""The errors of Fathom, with their exit codes.

FathomError
├── UsageError            the caller is wrong: a bad argument, path or setting      exit 2
│   ├── SettingsError     an unknown key or an illegal value
│   ├── IndexMissing      nothing has been ingested here yet
│   └── IndexMismatch     the index was made with another embedder, chunker or analyzer
├── RunError              the run went wrong: a file, a lock, a backend             exit 5
│   ├── IndexLocked       another process is writing
│   ├── IndexCorrupt      the stored index cannot be read
│   ├── SourceUnavailable a source of documents cannot be listed or read
│   ├── ModelError        a local model cannot be loaded or gives nonsense
│   ├── ModelUnavailable  a language model cannot be reached or does not answer in time
│   ├── ModelRefused      a language model or its server refuses the request
│   └── MalformedReply    a language model's reply cannot be used
└── Interrupted           the user pressed Ctrl-C; says how much is stored          exit 130

Each message is one line: the culprit, what was expected, the next step.
"""

import os
import traceback
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from fathom.redaction import SECRETS


class FathomError(Exception):
    """The base class of all errors that Fathom raises on purpose; their texts hide secrets.

    Attributes:
        exit_code: The exit code of the command line after this error.
    """

    exit_code: ClassVar[int] = 5

    @override
    def __str__(self) -> str:
        return SECRETS.redact(super().__str__())


class UsageError(FathomError):
    """A mistake of the caller: a bad argument, path or setting."""

    exit_code: ClassVar[int] = 2


class SettingsError(UsageError):
    """An unknown settings key or an illegal value."""


class IndexMissing(UsageError):
    """A place where nothing has been ingested yet."""


class IndexMismatch(UsageError):
    """An index made with another embedder, chunker or analyzer than the settings name."""


class RunError(FathomError):
    """A failure of a run although the call was right."""


class Interrupted(FathomError):
    """An interruption by the user."""

    exit_code: ClassVar[int] = 130


class IndexLocked(RunError):
    """An index that another process is writing to."""


class IndexCorrupt(RunError):
    """A stored index that cannot be read."""


class SourceUnavailable(RunError):
    """A source of documents that cannot be listed or read now."""


class ModelError(RunError):
    """A local model that cannot be loaded or gives nonsense."""


class ModelUnavailable(RunError):
    """A language model that cannot be reached or does not answer in time."""


class ModelRefused(RunError):
    """A refusal by a language model or its server: key, model name, content, size."""


class MalformedReply(RunError):
    """A language model's reply that cannot be used, also after one repair."""


def locate_error(error: BaseException) -> str:
    """Return the class of an unexpected error, and the last place outside of libraries.

    The message is left out, because it may quote a document or a key.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    paths = [Path(frame.filename) for frame in frames]
    candidates = [position for position, path in enumerate(paths) if not _is_library(path)]
    # The line that called a library tells more than a line deep inside of the library.
    last = candidates[-1] if candidates else -1
    place = f"{paths[last].parent.name}/{paths[last].name}, line {frames[last].lineno}"
    return f"{type(error).__name__} in {place}"


def _is_library(path: Path) -> bool:
    """Return whether a source file belongs to Python or to an installed package but Fathom."""
    package = Path(__file__).parent
    # Fathom itself may be installed in site-packages.
    is_foreign = "site-packages" in path.parts or Path(os.__file__).parent in path.parents
    return is_foreign and package not in path.parents
