"""URLs name kinds of sources, and never hold a secret."""

import re

import pytest

from fathom.errors import UsageError
from fathom.ingest.sources.kinds import make_source_name, normalize_url, read_credentials

CANARY = "hunter2-canary-5d1f"


@pytest.mark.parametrize(
    "url",
    [
        f"git+https://ana:{CANARY}@example.org/a.git",
        f"git+https://{CANARY}@example.org/a.git",
        f"git+https://:{CANARY}@example.org/a.git",
        f"git+ssh://git:{CANARY}@example.org/a.git",
        f"git+https://example.org/a.git?token={CANARY}",
        f"git+https://example.org/a.git#{CANARY}",
        f"git+https://[{CANARY}/a.git",
        f"imaps://ana:{CANARY}@example.org/INBOX",
        f"webdavs://{CANARY}@example.org/a",
    ],
)
def test_a_url_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        normalize_url(url)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize("url", ["gopher://example.org/", "javascript://x", "a\n", "x" * 2001])
def test_a_url_of_no_kind_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        normalize_url(url)


@pytest.mark.parametrize("url", ["", " ", "file://", "mbox://", "sftp://", "~no-such-user/a"])
def test_a_url_without_a_place_names_no_folder(url: str) -> None:
    with pytest.raises(UsageError, match="; write "):
        normalize_url(url)


def test_a_folder_may_be_named_by_a_url() -> None:
    assert normalize_url("file:///srv/My%20Docs") == "/srv/My Docs"
    assert normalize_url("/srv/100%25") == "/srv/100%25"


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_the_path_of_a_folder_may_hold_any_space(space: str) -> None:
    assert normalize_url(f"/srv/My{space}Docs") == f"/srv/My{space}Docs"
    for url in (f"https://example.org/a{space}b", f"ana@example.org:a{space}b"):
        with pytest.raises(UsageError, match="without a shape"):
            normalize_url(url)


@pytest.mark.parametrize("scheme", ["http", "HTTPS", "s3", "git+ssh", "imaps", "mbox", "file"])
@pytest.mark.parametrize("rest", [":/ana:{}@example.org", ":{}", ":"])
def test_a_url_without_two_slashes_is_no_folder(scheme: str, rest: str) -> None:
    with pytest.raises(UsageError, match=rf"write {re.escape(scheme)}://") as refused:
        normalize_url(scheme + rest.format(CANARY))
    assert CANARY not in str(refused.value)
    assert normalize_url(f"./{scheme}:/a").endswith(f"/{scheme}:/a")


def test_the_user_of_a_mailbox_may_be_in_its_url() -> None:
    url = "imaps://ana%40example.org@mail.example.org/INBOX"
    assert normalize_url(url) == url
    assert make_source_name(url) == "inbox"


def test_names_come_from_the_last_part_of_a_url() -> None:
    assert make_source_name("git+https://example.org/team/Hand_Book.git@v2") == "hand_book"
    assert make_source_name("git@example.org:team/handbook.git") == "handbook"
    assert make_source_name("/srv/Verträge 2024/") == "vertr-ge-2024"
    assert make_source_name("/") == "source"


def test_credentials_come_from_variables_named_after_the_source() -> None:
    environment = {"SOURCE_HAND_BOOK_USER": "ana", "SOURCE_HAND_BOOK_PASSWORD": CANARY}
    assert read_credentials("hand-book", environment) == ("ana", CANARY)
    assert read_credentials("other", environment) == ("", "")


def test_a_password_may_lie_in_the_keyring() -> None:
    keyring = pytest.importorskip("keyring", reason="the extra sources is not installed")

    class Keyring(keyring.backend.KeyringBackend):  # type: ignore[misc, name-defined]
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            if username == "locked":
                raise keyring.errors.KeyringLocked
            return CANARY if (service, username) == ("fathom-source", "handbook") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise AssertionError("no password is stored")

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        assert read_credentials("handbook", {"SOURCE_HANDBOOK_USER": "ana"}) == ("ana", CANARY)
        assert read_credentials("handbook", {"SOURCE_HANDBOOK_PASSWORD": "other"}) == ("", "other")
        assert read_credentials("locked", {}) == read_credentials("none", {}) == ("", "")
    finally:
        keyring.set_keyring(before)
