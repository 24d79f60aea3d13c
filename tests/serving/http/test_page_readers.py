"""The readers of a document on the page: shown to those who may read all, and to nobody else."""

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser driver is not installed")

from playwright.sync_api import Browser, expect
from tests.serving.http.browser import browser, explain_absence, open_tab
from tests.serving.http.conftest import KeyMaker, serve_app

from fathom import Engine
from fathom.serving.http.app import create_app
from fathom.settings import Settings

pytestmark = pytest.mark.skipif(
    bool(explain_absence()), reason=explain_absence() or "there is a browser"
)
MINUTES = "---\nreaders: ['<b>hr</b>', keepers, user:Ana K.]\n---\n# Minutes\n\nAll agreed.\n"


@pytest.fixture
def named(guarded: Settings, tmp_path: Path) -> Settings:
    """Return the settings of an index with rules, and documents that name readers themselves."""
    for name, text in (
        ("minutes", MINUTES),
        ("drafts", "---\nreaders: []\n---\n# Drafts\n\nNo.\n"),
    ):
        (tmp_path / f"{name}.md").write_text(text)
    (tmp_path / "minutes.md.readers.toml").write_text('readers = ["keepers", "board"]')
    with Engine(guarded) as engine:
        engine.ingest(sorted(tmp_path.glob("*.md")))
    return guarded


def list_readers(chrome: Browser, address: str, header: dict[str, str]) -> dict[str, str]:
    """Return what a list and the documents in it show to the holder of a key, by title."""
    key = header["Authorization"].removeprefix("Bearer ")
    with open_tab(chrome, address) as watched:
        watched.context.add_init_script(f"sessionStorage.setItem('fathom.key', '{key}')")
        watched.expected = ("status of 403",)  # uploads are for those who may read all documents
        page = watched.open_screen("#/documents")
        expect(page.get_by_role("row", name="Flood plan")).to_have_count(1)
        shown = {}
        for row in page.locator("tbody tr").all():
            cells = row.locator(".c-readers").all_text_contents()
            shown[row.locator(".c-title").inner_text()] = "".join(cells)
        heads = page.get_by_role("columnheader", name="Readers")
        expect(heads).to_have_count(int(any(shown.values())))
        for title in ("Minutes", "Aquarium of the mayor", "Flood plan"):
            link = page.get_by_role("link", name=title)
            if link.count():
                link.click()
                expect(page.locator(".document-title")).to_contain_text(title, ignore_case=True)
                shown[f"{title}, opened"] = "\n".join(page.locator(".readers").all_inner_texts())
                page.get_by_role("link", name="All documents").click()
                expect(page.get_by_role("row", name="Flood plan")).to_have_count(1)
        assert watched.list_faults() == []
    return shown


def test_readers_are_shown_to_those_who_may_read_all_documents(
    named: Settings, key: KeyMaker
) -> None:
    whole = key(scopes="read", groups=frozenset({"*"}), name="root")
    keeper = key(scopes="read", groups=frozenset({"keepers"}))
    with browser() as chrome, serve_app(create_app(named)) as address:
        shown = list_readers(chrome, address, whole)
        limited = list_readers(chrome, address, keeper)
    assert shown["Aquarium of the mayor"] == "keepers"
    assert shown["Drafts"] == "nobody"
    assert shown["Minutes"] == "keepers, board; of these only <b>hr</b>, keepers, user:Ana K."
    flood_plan = next(title for title in shown if "lood" in title)
    assert shown[flood_plan] == "everybody"
    assert shown["Minutes, opened"].splitlines()[0].startswith("May be read by: keepers, board;")
    assert "minutes.md: keepers, board" in shown["Minutes, opened"]
    assert "by the document itself: " in shown["Minutes, opened"]
    assert shown["Aquarium of the mayor, opened"].endswith("by the rule *aquarium*: keepers")
    assert "Drafts" not in limited
    assert {text for text in limited.values() if text} == set()
    assert "Minutes, opened" in limited
