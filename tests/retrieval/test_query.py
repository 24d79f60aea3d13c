import pytest

from fathom.errors import UsageError
from fathom.retrieval.query import MAX_CHARS, MAX_MARKS, check_question


def test_questions_have_a_bounded_number_of_words() -> None:
    check_question("x" * MAX_CHARS)
    with pytest.raises(UsageError, match="empty"):
        check_question(" \n")
    with pytest.raises(UsageError, match="100001 characters"):
        check_question("x" * (MAX_CHARS + 1))


def test_questions_have_a_bounded_number_of_combining_marks_in_a_row() -> None:
    check_question("q" + "\u0323\u0301" * (MAX_MARKS // 2) + " q\u0301")
    with pytest.raises(UsageError, match="more than 30 combining marks"):
        check_question("q" + "\u0323\u0301" * MAX_MARKS)
