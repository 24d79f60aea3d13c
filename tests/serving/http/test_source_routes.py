"""Sources over HTTP: added, synchronized, paused and removed by those who administer."""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.ingest.sources.test_site import Site, make_page, site  # noqa: F401
from tests.inside_server import PUBLIC, TARGETS, resolve_host
from tests.serving.http.conftest import KeyMaker, make_settings, open_client
from tests.source_worlds import FolderWorld, GitWorld

from fathom import Engine
from fathom.index.rights import EVERYBODY, ReadingRule
from fathom.ingest.sources import fetch
from fathom.ingest.sources import site as sites
from fathom.serving.http import source_routes, source_schedule
from fathom.serving.http.app import create_app
from fathom.settings import Settings

PATH = "/api/v1/sources"
SECRET = "canary-9d1c-secret"


@pytest.fixture
def settings(corpus: Path, tmp_path: Path) -> Settings:
    """Return the settings of a server that may fetch."""
    return make_settings(corpus, tmp_path, **{"offline": False, "serve.fetch_urls": True})


@pytest.fixture
def server(
    settings: Settings,
    site: Site,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[TestClient]:
    """Yield a client of a server for which the site of the test has a public address."""

    def connect_site(address: str, port: int, seconds: float) -> socket.socket:
        target = ("127.0.0.1", site.port) if address == PUBLIC else (address, port)
        return socket.create_connection(target, timeout=seconds)

    @dataclass(frozen=True)
    class WayToSite(fetch.WayOut):
        resolve: Callable[[str, int], Sequence[str]] = resolve_host
        connect: Callable[[str, int, float], socket.socket] = connect_site

    monkeypatch.setattr(fetch, "WayOut", WayToSite)
    monkeypatch.setattr(source_routes, "WayOut", WayToSite)
    monkeypatch.setattr(sites, "DELAY_S", 0.0)
    monkeypatch.setattr(source_schedule, "LOOK_S", 0.05)
    with open_client(create_app(settings)) as client:
        yield client


def wait_for(server: TestClient, is_done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first source once something has happened to it."""
    end = time.monotonic() + 20
    while True:
        source: dict[str, Any] = server.get(PATH).json()["sources"][0]
        if is_done(source):
            return source
        assert time.monotonic() < end, source
        time.sleep(0.02)


def test_a_site_is_added_read_paused_and_removed(
    server: TestClient,
    site: Site,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOURCE_DOCS_USER", "ana")
    monkeypatch.setenv("SOURCE_DOCS_PASSWORD", SECRET)
    site.pages = {"/docs/": make_page("a", text="First."), "/docs/a": make_page(text="Other.")}
    url = "http://public.example/docs/"
    added = server.post(PATH, json={"url": url, "every": "1h", "exclude": ["x/*"]})
    assert added.status_code == 201
    assert {"name": "docs", "url": url, "every": "1h", "exclude": ["x/*"]}.items() <= (
        added.json().items()
    )
    source = wait_for(server, lambda source: bool(source["synced"]))
    assert (source["fault"], source["documents"], source["state"]) == ("", 2, "idle")
    assert site.secrets == {""}  # it gets no password of this machine

    site.pages["/docs/b"] = make_page(text="Third.")
    site.pages["/docs/"] = make_page("a", "b", text="First.")
    assert server.post(f"{PATH}/docs/pause").json()["paused"] is True
    assert server.post(f"{PATH}/docs/sync").status_code == 202
    wait_for(server, lambda source: source["documents"] == 3 and source["state"] == "idle")
    assert server.post(f"{PATH}/docs/resume").json()["paused"] is False
    paths = {item["path"] for item in server.get("/api/v1/documents").json()["documents"]}
    assert {url, f"{url}a", f"{url}b"} <= paths
    assert server.delete(f"{PATH}/docs").json() == {"removed": 3}
    assert server.get(PATH).json() == {"sources": []}
    for request in (server.post(f"{PATH}/docs/sync"), server.delete(f"{PATH}/docs")):
        assert (request.status_code, request.json()["title"]) == (404, "source missing")


@pytest.mark.parametrize(
    "url",
    ["/etc", "../x", "mbox:///var/mail/a", "git+file:///srv/a", "git+https://example.org/a",
     "git@example.org:a", "s3://bucket/a", "webdavs://example.org/a", "sftp://example.org/a"],
)  # fmt: skip
def test_only_the_operator_adds_what_lies_on_this_machine_or_takes_its_passwords(
    server: TestClient, url: str
) -> None:
    reply = server.post(PATH, json={"url": url})
    assert (reply.status_code, reply.json()["title"]) == (422, "url refused")
    assert server.get(PATH).json() == {"sources": []}


def test_no_hostile_address_becomes_a_source(
    server: TestClient,
    site: Site,  # noqa: F811
) -> None:
    for target in TARGETS:
        reply = server.post(PATH, json={"url": target.format(port=80)})
        assert reply.json()["title"] in {"url refused", "url unreachable"}, target
        assert "\n" not in reply.json()["detail"]
    assert server.get(PATH).json() == {"sources": []}
    assert site.asked == []


def test_a_name_that_is_rebound_after_the_addition_reaches_nothing(
    server: TestClient,
    site: Site,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.post(PATH, json={"url": "http://public.example/docs/"})
    monkeypatch.setattr("tests.inside_server.PUBLIC", "127.0.0.1")
    server.post(f"{PATH}/docs/sync")
    source = wait_for(server, lambda source: bool(source["synced"]))
    assert "not public" in source["fault"]
    assert site.asked == []


def test_sources_of_the_operator_are_listed_and_synchronized(
    server: TestClient, settings: Settings, tmp_path: Path
) -> None:
    world = FolderWorld(tmp_path / "contracts")
    world.write({"a.md": "# A\n\nText.\n"})
    with Engine(settings) as engine:
        engine.sources.add(world.url)
        engine.sources.add(GitWorld(tmp_path / "away").url, name="zz-away")
    (tmp_path / "away").rename(tmp_path / "moved")
    server.post(f"{PATH}/contracts/sync")
    server.post(f"{PATH}/zz-away/sync")
    wait_for(server, lambda source: source["documents"] == 1)
    end = time.monotonic() + 20
    while not (fault := server.get(PATH).json()["sources"][1]["fault"]):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert "\n" not in fault
    assert "moved" not in fault


@pytest.mark.parametrize("more", [{}, {"offline": True, "serve.fetch_urls": True}])
def test_a_server_that_may_not_fetch_adds_no_source(
    corpus: Path, tmp_path: Path, more: dict[str, object]
) -> None:
    app = create_app(make_settings(corpus, tmp_path, **{"offline": False, **more}))
    with open_client(app) as client:
        reply = client.post(PATH, json={"url": "http://public.example/"})
        assert (reply.status_code, reply.json()["title"]) == (403, "fetching off")
        assert client.get(PATH).json() == {"sources": []}


def test_the_scope_that_administers_is_needed(fresh_client: TestClient, key: KeyMaker) -> None:
    headers = key(scopes="read ingest curate")
    requests = [
        ("GET", PATH), ("POST", PATH), ("DELETE", f"{PATH}/a"),
        *(("POST", f"{PATH}/a/{act}") for act in ("sync", "pause", "resume")),
    ]  # fmt: skip
    for method, path in requests:
        reply = fresh_client.request(method, path, headers=headers)
        assert (reply.status_code, reply.json()["title"]) == (403, "scope missing"), path
        assert fresh_client.request(method, path).status_code == 401
    assert fresh_client.get(PATH, headers=key(scopes="admin")).json() == {"sources": []}


def test_a_key_that_may_not_read_all_documents_sees_no_source(
    settings: Settings, key: KeyMaker, tmp_path: Path
) -> None:
    with Engine(settings) as engine:
        engine.ingest(rights=[ReadingRule("*", (EVERYBODY,))])
        engine.sources.add(str(tmp_path))
    limited = key(scopes="read ingest admin", groups=frozenset({"hr"}))
    whole = key(scopes="admin", groups=frozenset({"*"}))
    with open_client(create_app(settings)) as client:
        for method, path in (("GET", PATH), ("DELETE", f"{PATH}/{tmp_path.name}")):
            reply = client.request(method, path, headers=limited)
            assert (reply.status_code, reply.json()["title"]) == (403, "documents hidden")
        assert len(client.get(PATH, headers=whole).json()["sources"]) == 1


def test_a_workspace_sees_its_own_sources_alone(
    server: TestClient,
    site: Site,  # noqa: F811
    settings: Settings,
    key: KeyMaker,
    tmp_path: Path,
) -> None:
    site.pages = {"/docs/": make_page(text="For the lawyers.")}
    with Engine(settings) as engine:
        engine.sources.add(str(tmp_path), name="docs")
    law = key(scopes="read ingest admin", workspace="law")
    other = key(scopes="read ingest admin", workspace="other")
    assert server.get(PATH, headers=law).json() == {"sources": []}
    body = {"url": "http://public.example/docs/", "every": "1m"}
    assert server.post(PATH, json=body, headers=law).status_code == 201
    end = time.monotonic() + 20
    while not server.get(PATH, headers=law).json()["sources"][0]["synced"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    (document,) = server.get("/api/v1/documents", headers=law).json()["documents"]
    assert document["path"] == "http://public.example/docs/"
    assert server.delete(f"{PATH}/docs", headers=other).status_code == 404
    assert server.delete(f"{PATH}/docs", headers=law).json() == {"removed": 1}
    with Engine(settings) as engine:
        assert [source.name for source in engine.sources.list()] == ["docs"]
