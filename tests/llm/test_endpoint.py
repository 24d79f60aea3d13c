import subprocess
import sys

import pytest
from tests.llm.factories import CANARY

from fathom.errors import UsageError
from fathom.llm.chat import LangChainChat
from fathom.llm.endpoint import PROVIDERS, LLMProvider, check_url, read_key, resolve_endpoint
from fathom.redaction import SECRETS

KEYS = {"OPENAI_API_KEY": CANARY}


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("gpt-4o", {}, "unknown model 'gpt-4o': write provider:model, with one of openai:, groq:"),
        ("openai:", {}, "unknown model 'openai:'"),
        ("gemini:pro", {}, "openai:, groq:, anthropic:, ollama:"),
        ("openai:m", {"environment": {}}, "run: export OPENAI_API_KEY=..."),
        ("openai:m", {"environment": {"OPENAI_API_KEY": " \n"}}, "export OPENAI_API_KEY"),
        ("openai:m", {"environment": {"OPENAI_API_KEY": "sk-\nX: y"}}, "does not hold a key"),
        ("openai:m", {"key_env": "MINE"}, "export MINE=..."),
        ("openai:m", {"offline": True}, "--offline"),
        ("openai:m", {"offline": True, "base_url": "http://127.0.0.1:1/v1"}, "--offline"),
        ("openai:m", {"base_url": "localhost:11434"}, "write it as http://host:port/v1"),
        ("openai:m", {"base_url": "file:///etc/passwd"}, "not an address"),
        ("openai:m", {"base_url": "http://[::1"}, "not an address"),
        ("openai:m", {"base_url": f"http://u:{CANARY}@h/v1"}, "key_env"),
    ],
)
def test_invalid_settings_are_reported_in_one_line(
    name: str, more: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_endpoint(name, **{"environment": KEYS, **more})  # type: ignore[arg-type]

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = LLMProvider(package="no_such_package", base_url="", key_env="")
    monkeypatch.setitem(PROVIDERS, "absent", absent)

    with pytest.raises(UsageError, match=r"pip install 'fathom-qa\[absent\]'"):
        resolve_endpoint("absent:m")


def test_a_key_is_sent_only_to_its_own_server() -> None:
    elsewhere = resolve_endpoint("openai:m", base_url="http://127.0.0.1:1/v1", environment=KEYS)
    home = resolve_endpoint("openai:m", environment=KEYS)

    assert elsewhere.key is None
    assert home.key is not None
    assert CANARY not in repr(home) + repr(LangChainChat(home))


def test_nothing_is_imported_or_connected_before_the_first_use() -> None:
    program = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event.startswith("socket.") else None)
from fathom.llm.endpoint import resolve_endpoint
resolve_endpoint("openai:m", environment={"OPENAI_API_KEY": "k"})
slow = {"langchain_core", "langchain_openai", "openai", "httpx", "httpx2", "langsmith"}
print(sorted(slow & set(sys.modules)), opened)
"""
    completed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert completed.stdout == "[] []\n", completed.stderr


def test_a_key_is_read_from_its_variable() -> None:
    assert read_key("KEY", "x", {"KEY": " secret\n"}).get_secret_value() == "secret"


@pytest.mark.parametrize("value", ["", " ", "two words", "k\u00e9y", "a\x00b"])
def test_an_invalid_key_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError, match="KEY") as refused:
        read_key("KEY", "x", {"KEY": value})
    assert not value.strip() or value not in str(refused.value)


@pytest.mark.parametrize("url", ["http://localhost:1", "https://a.example/v1", "http://[::1]:80"])
def test_addresses_are_recognised(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2-secret@host:99999/v1",
        "http://user:hunter2-secret@host:abc",
        "http://user:hunter2-secret@[bad/v1",
        "http://user:hunter2-secret@",
    ],
)
def test_a_password_in_a_malformed_address_is_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match="holds a user name or password") as refused:
        check_url(url)
    assert "hunter2-secret" not in str(refused.value)
    assert SECRETS.redact(url) == url.replace("hunter2-secret", "[redacted]")


@pytest.mark.parametrize("url", ["", "a", "ftp://a", "http://", "http://a:0", "http://u:p@a"])
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="base_url"):
        check_url(url, example="http://host")
