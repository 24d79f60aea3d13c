"""The secrets that this process holds, and texts without them.

Keys and passwords are noted where they are read. Everything that leaves the process as a message
(errors, logs, traces, replies over HTTP) passes through `redact`.
"""

import json
import logging
import traceback
from collections.abc import Iterable

from typing_extensions import override

REDACTED = "[redacted]"
_LEAST_CHARS = 8


class SecretRegistry:
    """The secrets of a process; it only grows."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The secrets in each form in which a text may hold them, the longest first."""
        return self._values

    def add(self, secret: str) -> None:
        """Note a key or a password.

        A short one and a plain word are left out: other texts hold them too, and would be damaged.
        """
        is_word = secret.isalpha() and secret in {secret.lower(), secret.upper()}
        if len(secret) >= _LEAST_CHARS and not is_word and secret not in self._values:
            self._values = order_secrets((*self._values, secret))

    def redact(self, text: str) -> str:
        """Return a text without the secrets."""
        return hide_secrets(text, self._values)


def order_secrets(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets with their forms in JSON, the longest first: one may contain another."""
    given = {secret for secret in secrets if secret.strip()}
    escaped = {json.dumps(secret)[1:-1] for secret in given}
    return tuple(sorted(given | escaped, key=lambda secret: (-len(secret), secret)))


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return a text with a mark in place of each secret."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


SECRETS = SecretRegistry()
"""The secrets of this process: whatever reads one adds it, as any message may come to quote it."""


class RedactingFilter(logging.Filter):
    """A filter that takes the secrets out of what is logged, tracebacks included."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = SECRETS.redact(record.getMessage()), ()
        if record.exc_info:
            lines = traceback.format_exception(*record.exc_info)
            # Formatters print this text as it is, and would print the error itself with secrets.
            record.exc_text, record.exc_info = SECRETS.redact("".join(lines).rstrip()), None
        return True


_FILTER = RedactingFilter()


def open_log(name: str) -> logging.Logger:
    """Return the logger of this name; what is logged there loses the secrets."""
    log = logging.getLogger(name)
    log.addFilter(_FILTER)
    return log
