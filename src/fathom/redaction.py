"""The secrets that this process holds, and texts without them.

Code that reads a key or a password adds it to `SECRETS`. Every message that leaves the process
(errors, logs, traces, replies over HTTP) passes through `redact` or `hide_secrets`.
"""

import json
import logging
import traceback
from collections.abc import Iterable

from typing_extensions import override

REDACTED = "[redacted]"
_LEAST_CHARS = 8


class SecretRegistry:
    """The secrets of a process; none is ever removed."""

    def __init__(self) -> None:
        self._given: frozenset[str] = frozenset()
        self._values: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The secrets, each also in its form in JSON, the longest first."""
        return self._values

    def add(self, secret: str) -> None:
        """Add a key or a password.

        Secrets of fewer than eight characters, and single words in small or capital letters, are
        ignored, because they occur in other texts too, which would be damaged.
        """
        is_word = secret.isalpha() and secret in {secret.lower(), secret.upper()}
        if len(secret) >= _LEAST_CHARS and not is_word and secret not in self._given:
            self._given |= {secret}
            self._values = order_secrets(self._given)

    def redact(self, text: str) -> str:
        """Return a text with a mark in place of each secret of this process."""
        return hide_secrets(text, self._values)


def order_secrets(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets and their forms in JSON, the longest first, because one may contain another.

    Blank secrets are left out.
    """
    given = {secret for secret in secrets if secret.strip()}
    escaped = {
        json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        for secret in given
        for is_ascii in (True, False)
    }
    return tuple(sorted(given | escaped, key=lambda secret: (-len(secret), secret)))


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return a text with a mark in place of each secret, in the order of `secrets`."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


SECRETS = SecretRegistry()
"""The secrets of this process. Code that reads a secret adds it, because messages may quote it."""


class RedactingFilter(logging.Filter):
    """A filter that hides the secrets in log records, tracebacks included."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = SECRETS.redact(record.getMessage()), ()
        if record.exc_info:
            lines = traceback.format_exception(*record.exc_info)
            # Formatters print this text as it is; from the error they would print the secrets.
            record.exc_text, record.exc_info = SECRETS.redact("".join(lines).rstrip()), None
        return True


_FILTER = RedactingFilter()


def open_log(name: str) -> logging.Logger:
    """Return the logger of this name, in whose records the secrets are hidden."""
    log = logging.getLogger(name)
    log.addFilter(_FILTER)
    return log
