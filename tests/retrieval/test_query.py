import pytest

from fathom.errors import UsageError
from fathom.retrieval.query import MAX_CHARS, check_question


def test_questions_have_a_bounded_number_of_words() -> None:
    check_question("x" * MAX_CHARS)
    with pytest.raises(UsageError, match="empty"):
        check_question(" \n")
    with pytest.raises(UsageError, match="100001 characters"):
        check_question("x" * (MAX_CHARS + 1))
