import pytest

from fathom.errors import UsageError
from fathom.index.qdrant.address import QdrantAddress, parse_qdrant_address


def test_addresses_are_parsed() -> None:
    assert parse_qdrant_address("https://host:6333") == QdrantAddress(url="https://host:6333")
    address = parse_qdrant_address("http://10.0.0.1:6333/notes?shards=6&replicas=2")
    assert (address.url, address.collection) == ("http://10.0.0.1:6333", "notes")
    assert (address.shards, address.replicas) == (6, 2)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("qdrant://host", "is not an address"),
        ("https://", "is not an address"),
        ("https://user:secret@host", "holds a user name"),
        ("https://host/a/b", "is none; write it as https://host:6333/collection"),
        ("https://host/..", "is none"),
        ("https://host#x", "is none"),
        ("https://host?shards=0", "shards = '0' is no number from 1"),
        ("https://host?replicas=two", "replicas = 'two'"),
        ("https://host?prefer=x", "has no 'prefer'"),
    ],
)
def test_malformed_addresses_are_refused(url: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_qdrant_address(url)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_offline_mode_refuses_this_machine_too() -> None:
    with pytest.raises(UsageError, match="--offline allows none"):
        parse_qdrant_address("http://127.0.0.1:6333", offline=True)


def test_the_key_comes_from_a_variable_and_is_shown_nowhere() -> None:
    address = parse_qdrant_address("https://host", key_env="KEY", environment={"KEY": "s3cret"})
    assert address.key is not None
    assert address.key.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(address)
    with pytest.raises(UsageError, match="export KEY="):
        parse_qdrant_address("https://host", key_env="KEY", environment={})


def test_no_key_travels_unencrypted_to_another_machine() -> None:
    environment = {"KEY": "s3cret"}
    with pytest.raises(UsageError, match="use https://"):
        parse_qdrant_address("http://host:6333", key_env="KEY", environment=environment)
    address = parse_qdrant_address("http://127.0.0.1:6333", key_env="KEY", environment=environment)
    assert address.key is not None
