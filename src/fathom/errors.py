"""The errors Fathom raises.

FathomError
├── UsageError            the caller is wrong: a bad argument, path or setting      exit 2
│   ├── SettingsError     an unknown key or an illegal value
│   ├── IndexMissing      nothing has been ingested here yet
│   └── IndexMismatch     the index was made with another embedder, chunker or analyzer
├── RunError              the run went wrong: a file, a lock, a backend             exit 5
│   ├── IndexLocked       another process is writing
│   ├── IndexCorrupt      the stored index cannot be read
│   ├── ModelError        a local model cannot be loaded or gives nonsense
│   ├── ModelUnavailable  a language model cannot be reached or does not answer in time
│   ├── ModelRefused      a language model or its server declines the request
│   └── MalformedReply    a language model's reply cannot be used
└── Interrupted           somebody pressed Ctrl-C; says what is kept                exit 130

Each message is one line: the culprit, what was expected, the next step.
"""

import os
import traceback
from pathlib import Path
from typing import ClassVar


class FathomError(Exception):
    """Root of everything Fathom raises on purpose; `exit_code` is the command line's."""

    exit_code: ClassVar[int] = 5


class UsageError(FathomError):
    """The caller is wrong: a bad argument, path or setting."""

    exit_code: ClassVar[int] = 2


class SettingsError(UsageError):
    """An unknown settings key or an illegal value."""


class IndexMissing(UsageError):
    """Nothing has been ingested at this place yet."""


class IndexMismatch(UsageError):
    """The index was made with another embedder, chunker or analyzer than the settings name."""


class RunError(FathomError):
    """The run went wrong although the call was right."""


class Interrupted(FathomError):
    """Somebody broke off what was going on."""

    exit_code: ClassVar[int] = 130


class IndexLocked(RunError):
    """Another process is writing to the index."""


class IndexCorrupt(RunError):
    """The stored index cannot be read."""


class ModelError(RunError):
    """A local model cannot be loaded or gives nonsense."""


class ModelUnavailable(RunError):
    """A language model cannot be reached or does not answer in time."""


class ModelRefused(RunError):
    """A language model or its server declines the request: key, model name, content, size."""


class MalformedReply(RunError):
    """A language model's reply cannot be used, also after one repair."""


def culprit(error: BaseException) -> str:
    """Who broke off by an error nobody foresaw: its class, and the last line before a library.

    Its message is left out: it may quote a document or a key.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    paths = [Path(frame.filename) for frame in frames]
    own = [at for at, path in enumerate(paths) if not _is_library(path)]
    last = own[-1] if own else -1
    place = f"{paths[last].parent.name}/{paths[last].name}, line {frames[last].lineno}"
    return f"{type(error).__name__} in {place}"


def _is_library(path: Path) -> bool:
    here = Path(__file__).parent
    elsewhere = "site-packages" in path.parts or Path(os.__file__).parent in path.parents
    return elsewhere and here not in path.parents
