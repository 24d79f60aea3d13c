"""Buckets: redirections and names that lead inside are not followed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ingest.sources.test_remote import make_options
from tests.inside_server import (
    TARGETS,
    InsideServer,
    Redirector,
    resolve_host,
    serve_redirector,
)

from fathom.errors import SourceUnavailable
from fathom.ingest.sources.fetch import AddressGuard, WayOut
from fathom.ingest.sources.remote import open_bucket

pytest.importorskip("s3fs", reason="the extra sources is not installed")

import aiohttp
from tests.ingest.sources.test_guarded_transport import list_names

from fathom.ingest.sources.guarded_connector import GuardedResolver, find_endpoint, guard_bucket

NETWORK = WayOut(resolve=resolve_host)


@pytest.fixture(autouse=True)
def _account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the client an account, and no configuration of this machine."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret of the account")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws.ini"))


def test_no_redirection_reaches_inside(
    inside: InsideServer,
    count_probes: Callable[[int], None],
) -> None:
    async def follow_all(port: int) -> list[str]:
        guard = AddressGuard(named=frozenset({("127.0.0.1", port)}), network=NETWORK)
        resolver = GuardedResolver(guard)
        connector = aiohttp.TCPConnector(resolver=resolver, socket_factory=resolver.open_socket)
        opened = []
        async with aiohttp.ClientSession(connector=connector) as session:
            for target in TARGETS:
                count_probes(1)
                Redirector.target = target.replace("\\t", "").format(port=inside.port)
                try:
                    async with session.get(f"http://127.0.0.1:{port}/") as reply:
                        opened.append(str(reply.url))
                except Exception:  # noqa: BLE001 - the libraries refuse in many ways
                    continue
        return opened

    with serve_redirector() as port:
        assert asyncio.run(follow_all(port)) == []
    assert inside.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "private.example"])
def test_a_refused_redirection_is_named(
    host: str,
    inside: InsideServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Redirector.target = f"http://{host}:{inside.port}/"
    with serve_redirector() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        source = open_bucket("s3://notices/team", make_options(tmp_path), NETWORK)
        refusal = f"^s3://notices/team: is not reached: {host} has an address that is not public$"
        with pytest.raises(SourceUnavailable, match=refusal):
            list_names(source)
    assert inside.asked == []


def test_a_server_of_amazon_whose_name_turns_inside_is_not_reached(tmp_path: Path) -> None:
    network = WayOut(resolve=lambda _host, _port: ["93.184.215.14", "10.0.0.1"])
    source = open_bucket("s3://notices/team", make_options(tmp_path), network)
    with pytest.raises(SourceUnavailable, match=r"notices\.s3\.\S*amazonaws\.com has an address"):
        list_names(source)


def test_hosts_that_the_operator_configured_may_be_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert guard_bucket("notices", NETWORK).named == set()
    config = tmp_path / "aws.ini"
    config.write_text("[default]\nendpoint_url = http://store.example\n")
    assert find_endpoint() == "http://store.example"
    config.write_text(
        "[default]\nservices = ours\nendpoint_url = http://store.example\n"
        "[services ours]\ns3 =\n  endpoint_url = https://buckets.example\n"
    )
    assert find_endpoint() == "https://buckets.example"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://all.example:9000")
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    guard = guard_bucket("notices", WayOut(resolve=lambda _host, _port: ["10.0.0.1"]))
    assert guard.named == {
        ("all.example", 9000),
        ("notices.all.example", 9000),
        ("proxy.example", 3128),
    }
    assert guard.resolve("all.example", 9000) == ["10.0.0.1"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://buckets.example")
    assert find_endpoint() == "http://buckets.example"
