"""What can be asked at all."""

from fathom.errors import UsageError

MAX_CHARS = 100_000


def check_question(text: str) -> None:
    """Accept a question or query.

    Raises:
        UsageError: If it is empty, too long or no text at all.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the question is not UTF-8 text; type or convert it anew") from None
    if not text.strip():
        raise UsageError("the question is empty")
    if len(text) > MAX_CHARS:
        raise UsageError(
            f"the question has {len(text)} characters, at most {MAX_CHARS} are read; "
            "ingest long text as a document and ask about it"
        )
