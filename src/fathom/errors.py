"""The errors Fathom raises.

FathomError
├── UsageError            the caller is wrong: a bad argument, path or setting      exit 2
│   ├── SettingsError     an unknown key or an illegal value
│   ├── IndexMissing      nothing has been ingested here yet
│   └── IndexMismatch     the index was made with another embedder, chunker or analyzer
└── RunError              the run went wrong: a file, a lock, a backend             exit 5
    ├── IndexLocked       another process is writing
    ├── IndexCorrupt      the stored index cannot be read
    ├── ModelError        a local model cannot be loaded or gives nonsense
    ├── ModelUnavailable  a language model cannot be reached or does not answer in time
    ├── ModelRefused      a language model or its server declines the request
    └── MalformedReply    a language model's reply cannot be used

Each message is one line: the culprit, what was expected, the next step.
"""

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
