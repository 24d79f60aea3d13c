import json

import pytest

from fathom.errors import culprit


def test_the_culprit_is_the_last_line_before_a_library() -> None:
    with pytest.raises(ValueError, match="Expecting") as caught:
        json.loads("no JSON, but a secret")
    assert culprit(caught.value).startswith("JSONDecodeError in tests/test_errors.py, line ")
    assert "secret" not in culprit(caught.value)


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert culprit(KeyError("x")) == "KeyError"
