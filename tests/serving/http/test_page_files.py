"""The files of the page: how they are served, and rules that all of them keep."""

import re
from pathlib import Path
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from fathom.agents.debate.debater import Move
from fathom.control.cascade import CascadeReason
from fathom.control.reasons import GateReason
from fathom.registry import STRATEGIES
from fathom.serving.http.page import CONTENT_POLICY, load_page_files
from fathom.types import AbstentionReason

FOLDER = Path(__file__).parents[3] / "src/fathom/serving/http/page"
MODULES = sorted(FOLDER.glob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc"
    r"|createContextualFragment|\beval\(|new Function|javascript:"
)
USED = re.compile(r'\b(?:t|count|has)\((?:[^"`()]*\? )?"([\w. ]+)"')


def load_words(language: str) -> dict[str, str]:
    """Return the words of a language by key."""
    text = (FOLDER / f"{language}.js").read_text(encoding="utf-8")
    return dict(re.findall(r'"?([a-z][\w. ]*)"?: "((?:[^"\\]|\\.)*)"', text))


def test_the_page_is_served_under_a_strict_content_policy(client: TestClient) -> None:
    reply = client.get("/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert policy == CONTENT_POLICY
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*src=\"/page/)", reply.text)
    assert not re.search(r"https?:", reply.text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("main.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("favicon.svg", "image/svg+xml"),
    ],
)
def test_a_file_is_sent_once_and_then_only_revalidated(
    client: TestClient, name: str, kind: str
) -> None:
    first = client.get(f"/page/{name}")
    assert (first.status_code, first.headers["content-type"]) == (200, kind)
    assert first.headers["cache-control"] == "no-cache"
    again = client.get(f"/page/{name}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"/page/{name}", headers={"If-None-Match": '"another"'})
    assert other.content == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", ["../page.py", "..%2fpage.py", "%2e%2e/app.py", "main", "x.js"])
def test_only_the_files_of_the_page_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"/page/{name}").status_code == 404


def test_the_page_is_small_and_complete() -> None:
    assert {"index.html", "main.js", "style.css", "favicon.svg"} <= set(load_page_files())
    assert sum(len(file.content) for file in load_page_files().values()) < 200_000
    imported = {
        name
        for module in MODULES
        for name in re.findall(r'from "\./([\w.]+)"', module.read_text(encoding="utf-8"))
    }
    assert imported <= set(load_page_files())


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_builds_elements_from_markup(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert MARKUP.search(text) is None
    assert not re.search(r"https?://(?!www\.w3\.org)", text)


def test_both_languages_have_the_same_keys() -> None:
    english, indonesian = load_words("en"), load_words("id")
    assert len(english) > 200
    assert english.keys() == indonesian.keys()
    for key, text in english.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", indonesian[key])), key


def test_every_shown_word_is_in_the_dictionary() -> None:
    dictionary = load_words("en")
    used = {
        key
        for module in MODULES
        for key in USED.findall(module.read_text(encoding="utf-8"))
        if not key.endswith(".")
    }
    assert len(used) > 100
    assert used - dictionary.keys() == set()


def test_every_verdict_of_the_control_laws_has_words() -> None:
    dictionary = load_words("en")
    for reason in (*get_args(GateReason), *get_args(CascadeReason), *get_args(AbstentionReason)):
        verb, _, what = reason.partition("_")
        parts = {f"gate.{verb}", f"what.{what}"}
        assert f"reason.{reason}" in dictionary or parts <= dictionary.keys(), reason
    for move in get_args(Move):
        assert f"move.{move}" in dictionary
    for why in get_args(AbstentionReason):
        assert f"abstained.{why}" in dictionary


def test_every_strategy_has_words() -> None:
    assert {f"strategy.{name}" for name in STRATEGIES} <= load_words("en").keys()
