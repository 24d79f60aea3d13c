import pytest

from fathom.errors import UsageError
from fathom.llm.access import check_url, key_in


def test_a_key_is_taken_from_its_variable() -> None:
    assert key_in("KEY", "x", {"KEY": " secret\n"}).get_secret_value() == "secret"


@pytest.mark.parametrize("value", ["", " ", "two words", "k\u00e9y", "a\x00b"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError, match="KEY") as refused:
        key_in("KEY", "x", {"KEY": value})
    assert not value.strip() or value not in str(refused.value)


@pytest.mark.parametrize("url", ["http://localhost:1", "https://a.example/v1", "http://[::1]:80"])
def test_addresses(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize("url", ["", "a", "ftp://a", "http://", "http://a:0", "http://u:p@a"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="base_url"):
        check_url(url, example="http://host")
