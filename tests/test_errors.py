import json

import pytest

from fathom.errors import locate_error


def test_the_culprit_is_the_last_line_before_a_library() -> None:
    with pytest.raises(ValueError, match="Expecting") as caught:
        json.loads("no JSON, but a secret")
    assert locate_error(caught.value).startswith("JSONDecodeError in tests/test_errors.py, line ")
    assert "secret" not in locate_error(caught.value)


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert locate_error(KeyError("x")) == "KeyError"
