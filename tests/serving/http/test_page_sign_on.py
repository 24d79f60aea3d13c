"""Signing on and out in a real browser, at a provider that signs real tokens."""

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser driver is not installed")

from playwright.sync_api import expect
from tests.openid_provider import CLIENT, SECRET, serve_provider
from tests.serving.http.browser import browser, explain_absence, open_tab
from tests.serving.http.conftest import serve_app

from fathom.serving.http.app import create_app
from fathom.serving.http.openid import Issuer
from fathom.serving.http.sign_on import SignOn
from fathom.settings import Settings

pytestmark = pytest.mark.skipif(
    bool(explain_absence()), reason=explain_absence() or "there is a browser"
)


def test_a_user_signs_on_returns_to_the_place_asks_and_signs_out(settings: Settings) -> None:
    with serve_provider() as provider, browser() as chrome:
        provider.user["preferred_username"] = "Ana <b>K.</b>"
        app = create_app(settings, sign_on=SignOn(Issuer(provider.url, CLIENT, SECRET)))
        with serve_app(app) as address, open_tab(chrome, address) as watched:
            page = watched.open_screen("#/documents")
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("link", name="Sign on").click()
            expect(page.get_by_text("Signed on as Ana <b>K.</b>")).to_be_visible()
            assert page.url == f"{address}/#/documents"
            expect(page.get_by_text("flood-plan.pdf").first).to_be_visible()
            assert page.evaluate("document.cookie") == ""
            watched.ask("How many items may be borrowed from the Merrow library at a time?")
            expect(page.locator(".earlier a")).to_have_count(1)
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("dialog").get_by_role("link", name="Sign on")).to_be_visible()
            expect(page.get_by_text("Signed on as")).to_have_count(0)
            assert [line for line in watched.messages if "status of 401" not in line] == []
