"""The page in a real browser: everything a person does with it, on the samples."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser driver is not installed")
pytest.importorskip("axe_playwright_python", reason="the checker of access is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, Route, expect
from tests.serving.http.browser import PHONE, WatchedTab, browser, explain_absence, open_tab
from tests.serving.http.conftest import serve_app

from fathom import Engine
from fathom.config import parse_settings
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    Figure,
    ReportSection,
    ReportStatement,
    ReportTable,
)
from fathom.evaluation.report.storage import save_report
from fathom.ingest.survey import SurveyedPlace
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, Scope, create_key_store

pytestmark = pytest.mark.skipif(
    bool(explain_absence()), reason=explain_absence() or "there is a browser"
)
ROOT = Path(__file__).parent.parent.parent.parent
ITEMS = "How many items may be borrowed from the Merrow library at a time?"
BRIDGE = "When was the Mill Bridge opened?"
HOLIDAY = "How many days of holiday does an apprentice gardener get?"
FILM = "What is the late fee per day for a film?"
SHELTER = "How many people can the sports hall in Linden Road take in?"
SKIP = "How much does a skip on a public street cost per week?"
POOL = "How much does a ticket for the Merrow swimming pool cost?"
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">'
    '<path d="M2 18L38 4" stroke="currentColor"/></svg>'
)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as chromium:
        yield chromium


class SiteSurvey:
    """A page of a site, in the file into which a source has fetched it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_text("<title>Pilotage</title><p>Pilots board ships off the breakwater.</p>")

    def iterate_places(self, *_: object) -> Iterator[SurveyedPlace]:
        yield SurveyedPlace("https://public.example/pilotage/", self.file, None)


def serve(index: Path, **more: object) -> AbstractContextManager[str]:
    """Serve an index from this process, whose models are loaded, and yield the address.

    The page of a server in a process of its own is in `test_page_hostile.py`.
    """
    settings = parse_settings({"index.directory": str(index), "offline": True, **more})
    return serve_app(create_app(settings))


@pytest.fixture(scope="module")
def server(embedded_samples: Path) -> Iterator[str]:
    """Yield the address of a server of the samples."""
    with Engine.open(embedded_samples, {"offline": True}) as engine:
        engine.documents.ingest_places(SiteSurvey(embedded_samples.parent / "pilotage.html"))
    save_report(make_report(), embedded_samples)
    with serve(embedded_samples) as address:
        yield address


@pytest.fixture(scope="module")
def eager(server: str, embedded_samples: Path) -> Iterator[str]:
    """Yield the address of a server of the same index that shows answers of which it is not
    sure.
    """
    with serve(embedded_samples, **{"ask.caution": "eager"}) as address:
        yield address


@pytest.fixture
def watched_page(chrome: Browser, server: str) -> Iterator[WatchedTab]:
    with open_tab(chrome, server) as watched:
        yield watched
        assert watched.list_faults() == []


@pytest.fixture
def phone(chrome: Browser, server: str) -> Iterator[WatchedTab]:
    with open_tab(chrome, server, width=PHONE, touch=True) as watched:
        yield watched
        assert watched.list_faults() == []


def get_body(request: Request) -> dict[str, Any]:
    """Return the body of a request."""
    body = request.post_data_json
    assert isinstance(body, dict)
    return body


def make_report() -> EvaluationReport:
    table = ReportTable(
        title="Answers", head=("", "naive", "maf"), rows=(("F1", "0.71 [0.6, 0.8]", "0.74"),)
    )
    plot = Figure(name="risk", title="Risk", caption="Lower is better.", svg=SVG)
    statement = ReportStatement(text="maf leads naive.", tone="good")
    return EvaluationReport(
        title="Fathom: evaluation of samples",
        sections=(ReportSection(title="Who leads", blocks=(statement, table, plot)),),
        foot="made by a test",
    )


def test_an_answer_opens_its_source_at_the_highlighted_quote(watched_page: WatchedTab) -> None:
    page = watched_page.ask(ITEMS)
    expect(page.locator(".short")).to_have_text("Up to twelve")
    page.locator(".whole .mark").first.click()
    panel = page.get_by_role("complementary", name="Source document")
    expect(panel.locator("mark")).to_have_text("Up to twelve items may be borrowed at a time.")
    expect(panel.locator("mark")).to_be_in_viewport()
    expect(panel.get_by_role("heading", name="Rules of the Merrow Town Library")).to_be_visible()
    # Beside the answer, not over it.
    beside = panel.bounding_box()
    answer = page.locator(".answer").bounding_box()
    assert beside is not None
    assert answer is not None
    assert answer["x"] + answer["width"] <= beside["x"]


def test_the_cells_of_a_computation_are_marked_in_its_sources(watched_page: WatchedTab) -> None:
    page = watched_page.ask("What is the total number of households without water?")
    expect(page.locator(".short")).to_have_text("301")
    expect(page.locator(".source mark")).to_have_text(["36", "12", "118", "54", "81"])
    page.locator(".source").nth(2).click()
    panel = page.get_by_role("complementary", name="Source document")
    expect(panel.locator("mark")).to_contain_text("Households without water: 118")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_tentative_answer_says_so_in_a_colour_of_its_own(
    chrome: Browser, server: str, eager: str, scheme: str
) -> None:
    with open_tab(chrome, eager, scheme=scheme, trusting=True) as watched:
        page = watched.ask(HOLIDAY)
        expect(page.locator(".answer.tentative .unsure")).to_contain_text("Not sure:")
        expect(page.locator(".answer .source").first).to_be_visible()
        colours = page.evaluate(
            """() => ["body", ".unsure", ".tentative .short"].map((selector) =>
                getComputedStyle(document.querySelector(selector)).color)"""
        )
        assert colours[0] != colours[1] == colours[2]
        violations = Axe().run(page).response["violations"]
        impacts = {violation["impact"] for violation in violations}
        assert not impacts & {"serious", "critical"}
        watched.open_screen("#/traces")
        expect(page.locator(".card").first).to_contain_text("not sure")
        assert watched.list_faults() == []
    with open_tab(chrome, server) as watched:
        expect(watched.ask(ITEMS).locator(".unsure")).to_have_count(0)


def test_a_pdf_is_shown_as_drawn(watched_page: WatchedTab) -> None:
    page = watched_page.ask(SHELTER)
    page.locator(".source").first.click()
    picture = page.locator(".panel img.page")
    expect(picture).to_have_attribute("alt", re.compile("Page 2 of Flood Plan"))
    assert picture.evaluate("image => image.naturalWidth") == 1000
    page.get_by_role("button", name="Page before").click()
    expect(picture).to_have_attribute("alt", re.compile("Page 1 of Flood Plan"))
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".panel mark")).to_contain_text("420 people")


def test_the_quote_is_marked_on_the_page_of_a_pdf(watched_page: WatchedTab) -> None:
    page = watched_page.ask(SHELTER)
    page.locator(".source").first.click()
    expect(page.locator(".panel img.page")).to_have_attribute("alt", re.compile("Page 2"))
    yellow = page.evaluate(
        """async () => {
            const image = document.querySelector(".panel img.page");
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            const pen = canvas.getContext("2d");
            pen.drawImage(image, 0, 0);
            const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let at = 0; at < data.length; at += 4) {
                if (data[at] > 230 && data[at + 1] > 200 && data[at + 2] < 190) found += 1;
            }
            return found;
        }"""
    )
    assert yellow > 1000


@pytest.mark.parametrize(
    "place", ["start=-5&end=90&page=1", "start=1.5&end=1e999&page=1.5", "start=9999999&end=9999999"]
)
def test_a_link_to_a_place_that_no_document_has_opens_the_document(
    watched_page: WatchedTab, place: str
) -> None:
    page = watched_page.open_screen("#/documents")
    page.get_by_role("link", name="flood-plan.pdf").or_(
        page.get_by_text("Flood Plan")
    ).first.click()
    expect(page.locator("img.page")).to_have_attribute("alt", re.compile("Page 1 of Flood Plan"))
    document = page.evaluate("location.hash").partition("?")[0]
    page = watched_page.open_screen(f"{document}?{place}")
    expect(page.locator("img.page")).to_have_attribute("alt", re.compile("Page 1 of Flood Plan"))
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".document .lines")).to_contain_text("420 people")


def test_disagreeing_documents_are_shown_side_by_side(watched_page: WatchedTab) -> None:
    page = watched_page.ask(SKIP)
    claims = page.locator(".claim")
    expect(claims).to_have_count(2)
    text = " ".join(claims.all_inner_texts())
    assert all(words in text for words in ("35", "48", "Fee Schedule 2023", "Fee Schedule 2025"))
    first, second = claims.nth(0).bounding_box(), claims.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    claims.nth(0).get_by_role("button").click()
    expect(page.locator(".panel")).to_be_visible()


def test_an_abstention_is_a_plain_sentence_with_the_nearest_evidence(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.ask(POOL)
    expect(page.locator(".short")).to_have_text("I don\u2019t know.")
    expect(page.get_by_text("is not sure enough to answer this")).to_be_visible()
    expect(page.get_by_text("Nearest, but not enough")).to_be_visible()
    expect(page.locator(".source")).not_to_have_count(0)


def test_the_confidence_is_shown_in_words_and_as_a_figure(watched_page: WatchedTab) -> None:
    page = watched_page.ask(ITEMS)
    sure = page.locator(".sure").inner_text()
    assert re.search(r"(Very|Quite|Rather) sure\. \d+ %\. About \d+ in 100 such answers", sure)
    unknown = page.evaluate(
        """async () => {
            const { sureness } = await import("/page/answer.js");
            return sureness({ status: "answered", confidence: null }).textContent;
        }"""
    )
    assert unknown == "The confidence is unknown. These settings have not been calibrated."


def test_steps_are_shown_before_the_answer(watched_page: WatchedTab) -> None:
    watched_page.context.add_init_script(
        """addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
            window.seen ??= [];
            for (const name of ["step", "statement", "answer"])
                if (document.querySelector("." + name) && !window.seen.includes(name))
                    window.seen.push(name);
        }).observe(document.body, { childList: true, subtree: true }));"""
    )
    page = watched_page.ask(SKIP, strategy="maf")
    assert page.evaluate("window.seen") == ["step", "statement", "answer"]
    page.locator(".work summary").first.click()
    steps = page.locator(".steps").inner_text()
    assert "Searching" in steps
    assert "12 hits" in steps
    assert "The sources disagree, so it went on: debate" in steps
    assert "Nothing is left to try" in steps
    expect(page.get_by_role("heading", name="Round 2")).to_be_visible()
    debate = page.locator(".debate").inner_text()
    assert "Agent 1 · Fee Schedule 2023" in debate
    assert "stays with it" in debate
    assert "It ended with: 48" in debate


def test_a_follow_up_question_is_understood_and_the_conversation_kept(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.ask("Who designed the Mill Bridge?")
    watched_page.ask_follow_up("When was it opened?")
    expect(page.get_by_text("Understood as: When was the Mill Bridge opened?")).to_be_visible()
    expect(page.locator(".answer").nth(1)).to_contain_text("8 September 1891")
    expect(page.locator(".answer").nth(1)).to_be_in_viewport(ratio=0.9)
    answers = page.locator(".turns .answer").all_inner_texts()
    page.reload()
    expect(page.locator(".turns .answer")).to_have_count(2)
    assert page.locator(".turns .answer").all_inner_texts() == answers
    expect(page.get_by_role("link", name="Who designed the Mill Bridge?")).to_be_visible()
    page.locator(".work summary").first.click()
    expect(page.locator(".steps").first).to_contain_text("Searching")


def test_a_rating_and_a_correction_are_stored(watched_page: WatchedTab) -> None:
    page = watched_page.ask(BRIDGE)
    with page.expect_response("**/feedback") as right:
        page.get_by_role("button", name="This is right").click()
    assert right.value.ok
    expect(page.get_by_text("Thank you, it is saved.")).to_be_visible()
    page.get_by_role("button", name="This is wrong").click()
    page.get_by_label("What would be right?").fill("8 September 1891")
    with page.expect_response("**/feedback") as wrong:
        page.get_by_role("button", name="Send").click()
    assert wrong.value.ok
    body = get_body(wrong.value.request)
    assert (body["correct"], body["answer"]) == (False, "8 September 1891")
    expect(page.get_by_role("button", name="This is wrong")).to_have_attribute(
        "aria-pressed", "true"
    )
    watched_page.ask(BRIDGE)
    expect(page.locator(".sure")).to_have_text("A person has verified this answer.")


def test_feedback_can_supply_an_answer_missing_from_the_documents(watched_page: WatchedTab) -> None:
    page = watched_page.ask(FILM)
    expect(page.locator(".short")).to_have_text("I don\u2019t know.")
    expect(page.get_by_role("button", name="This is right")).to_have_count(0)
    page.get_by_role("button", name="I know the answer").click()
    page.get_by_label("What is the answer?").fill("0.50 crowns")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Thank you, it is saved.")).to_be_visible()


def test_a_key_that_may_only_read_is_offered_no_correction(chrome: Browser, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        engine.ingest([ROOT / "samples" / "corpus" / "bridge-history.epub"])
        store = create_key_store(engine.index)
        _, text = store.add(Key(id="", name="reader"))
        store.close()
    with serve(tmp_path / "index") as address, open_tab(chrome, address) as watched:
        watched.context.add_init_script(f"sessionStorage.setItem('fathom.key', '{text}')")
        page = watched.ask(BRIDGE)
        with page.expect_response("**/feedback") as wrong:
            page.get_by_role("button", name="This is wrong").click()
        assert (wrong.value.status, get_body(wrong.value.request)["correct"]) == (201, False)
        expect(page.get_by_label("What would be right?")).to_have_count(0)
        with page.expect_response("**/status"):
            watched.ask(FILM)
        expect(page.locator(".short")).to_have_text("I don\u2019t know.")
        expect(page.get_by_role("button", name="I know the answer")).to_have_count(0)
        assert watched.list_faults() == []


@dataclass(frozen=True)
class SourcedServer:
    """The address of a server with two sources, and its keys by the scopes that they have."""

    address: str
    keys: Mapping[str, str]


@pytest.fixture
def sourced_server(tmp_path: Path) -> Iterator[SourcedServer]:
    """Return a server of which one source was never read, and the other one is away."""
    notices = tmp_path / "notices"
    notices.mkdir()
    (notices / "pilots.md").write_text("# Pilots\n\nPilots board off the breakwater.\n")
    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        engine.ingest([ROOT / "samples" / "corpus" / "bridge-history.epub"])
        engine.sources.add(str(notices))
        engine.sources.add(str(tmp_path / "away"), every="30d")
        assert "mount it" in engine.sources.sync("away").fault
        store = create_key_store(engine.index)
        scopes = (frozenset[Scope]({"read"}), frozenset[Scope]({"read", "admin"}))
        keys = {
            " ".join(sorted(names)): store.add(Key(id="", name="x", scopes=names))[1]
            for names in scopes
        }
        store.close()
    with serve(tmp_path / "index") as address:
        yield SourcedServer(address, keys)


def test_sources_are_shown_to_those_who_administer(
    chrome: Browser, sourced_server: SourcedServer
) -> None:
    key = sourced_server.keys["admin read"]
    with open_tab(chrome, sourced_server.address) as watched:
        watched.context.add_init_script(f"sessionStorage.setItem('fathom.key', '{key}')")
        page = watched.open_screen("#/sources")
        expect(page.get_by_role("link", name="Sources")).to_have_count(1)
        cards = page.locator("li.card")
        expect(cards.nth(0)).to_contain_text("Not complete:")
        expect(cards.nth(0)).to_contain_text("every 30d")
        page.get_by_role("button", name="Sync now: notices").click()
        expect(cards.nth(1)).to_contain_text("One document")
        expect(cards.nth(1)).to_contain_text("last run")
        page.get_by_role("button", name="Pause: notices").click()
        expect(cards.nth(1)).to_contain_text("paused")
        page.get_by_role("button", name="Resume: notices").click()
        expect(cards.nth(1)).not_to_contain_text("paused")
        expect(page.get_by_role("button", name="Pause: notices")).to_be_focused()
        assert watched.list_faults() == []


def test_sources_are_not_offered_to_a_key_that_may_only_read(
    chrome: Browser, sourced_server: SourcedServer
) -> None:
    key = sourced_server.keys["read"]
    with open_tab(chrome, sourced_server.address) as watched:
        watched.context.add_init_script(f"sessionStorage.setItem('fathom.key', '{key}')")
        with watched.page.expect_response("**/status"):
            page = watched.open_screen("#/documents")
        expect(page.get_by_role("link", name="bridge")).to_have_count(1)
        expect(page.get_by_role("link", name="Sources")).to_have_count(0)
        assert watched.list_faults() == []


def test_effort_strategy_and_budget_are_sent_with_the_question(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen()
    page.get_by_label("Effort").select_option("low")
    page.get_by_label("Strategy", exact=True).select_option("rrf")
    page.get_by_role("button", name="Budget").click()
    page.get_by_label("Tokens at most").fill("1234")
    page.get_by_label("Seconds at most").fill("29.5")
    page.get_by_label("Seconds at most").press("Tab")
    page.locator("#question").fill(ITEMS)
    with page.expect_request("**/ask/stream") as request_info:
        page.locator("#question").press("Enter")
    body = get_body(request_info.value)
    assert (body["effort"], body["strategy"]) == ("low", "rrf")
    assert body["budget"] == {"max_tokens": 1234, "deadline": 29.5}
    page.locator(".answer").wait_for()
    page.get_by_text("What it cost").click()
    expect(page.locator(".spent")).to_contain_text("of 1,234")


def test_a_question_can_be_stopped(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen()
    page.route("**/ask/stream", lambda _: None)  # never answered
    page.locator("#question").fill(ITEMS)
    page.locator("#question").press("Enter")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def test_a_reload_before_the_answer_asks_the_question_again(watched_page: WatchedTab) -> None:
    page = watched_page.ask("Who designed the Mill Bridge?")
    page.get_by_label("Effort").select_option("low")
    page.route("**/ask/stream", lambda _: None, times=1)  # never answered
    with page.expect_request("**/ask/stream"):
        page.locator("#question").fill("When was it opened?")
        page.locator("#question").press("Enter")
    with page.expect_request("**/ask/stream") as again:
        page.reload()
    body = get_body(again.value)
    assert (body["question"], body["effort"]) == ("When was it opened?", "low")
    expect(page.locator(".turns .answer").nth(1)).to_contain_text("8 September 1891")
    expect(page.locator(".turns .question").nth(1)).to_have_text("When was it opened?")
    page.reload()
    expect(page.locator(".turns .answer")).to_have_count(2)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def test_a_reload_during_the_first_question_keeps_its_conversation(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.open_screen()
    page.route("**/ask/stream", lambda _: None, times=1)  # never answered
    with page.expect_request("**/ask/stream"):
        page.locator("#question").fill(BRIDGE)
        page.locator("#question").press("Enter")
    place = page.evaluate("location.hash")
    assert place.startswith("#/c/")
    page.reload()
    expect(page.locator(".turns .question")).to_have_text(BRIDGE)
    expect(page.locator(".turns .answer")).to_contain_text("8 September 1891")
    assert page.evaluate("location.hash") == place


def test_a_reload_does_not_repeat_a_question_that_was_stopped_or_left(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.open_screen()
    page.route("**/ask/stream", lambda _: None)  # never answered
    for stop in (page.get_by_role("button", name="Stop"), page.get_by_role("link", name="History")):
        page.locator("#question").fill(BRIDGE)
        with page.expect_request("**/ask/stream"):
            page.locator("#question").press("Enter")
        place = page.evaluate("location.hash")
        stop.click()
        page.goto(f"{watched_page.address}/{place}")
        page.reload()
        expect(page.get_by_text("documents to answer from")).to_be_visible()
        expect(page.locator(".turn")).to_have_count(0)


@pytest.mark.parametrize(
    ("place", "english", "indonesian"),
    [
        ("documents", "This document is not here.", "Dokumen ini tidak ada."),
        ("traces", "This answer is not here.", "Jawaban ini tidak ada."),
        ("reports", "This report is not here.", "Laporan ini tidak ada."),
    ],
)
def test_an_address_of_nothing_says_so_in_the_words_of_the_page(
    watched_page: WatchedTab, place: str, english: str, indonesian: str
) -> None:
    watched_page.expected = ("status of 404",)
    page = watched_page.open_screen(f"#/{place}/unknown")
    for words, language in ((english, "id"), (indonesian, "en")):
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text(words)
        expect(alert).not_to_contain_text(re.compile("/api/|fathom|unknown"))
        page.evaluate("name => localStorage.setItem('fathom.language', name)", language)
        page.reload()


def test_the_address_of_no_conversation_says_so_and_offers_a_new_one(
    watched_page: WatchedTab,
) -> None:
    watched_page.expected = ("status of 404",)
    page = watched_page.open_screen("#/c/unknown")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("This conversation is not here.")
    expect(alert).not_to_contain_text("/api/")
    alert.get_by_role("link", name="Begin a new conversation").click()
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    assert page.evaluate("location.hash") == "#/"


def test_a_page_closed_before_the_answer_leaves_no_empty_conversation_in_the_list(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.ask(BRIDGE)
    empty = watched_page.context.request.post(
        f"{watched_page.address}/api/v1/conversations",
        data={},
        headers={"Origin": watched_page.address},
    )
    assert empty.ok
    watched_page.open_screen()
    links = page.locator("nav a[href^='#/c/'], .side a[href^='#/c/']")
    links.first.wait_for()
    addresses = {link.get_attribute("href") for link in links.all()}
    assert f"#/c/{empty.json()['id']}" not in addresses


def test_a_failed_question_is_asked_again_in_its_place(watched_page: WatchedTab) -> None:
    watched_page.expected = ("status of 429", "status of 500")
    page = watched_page.open_screen()
    refusal = {"detail": "60 questions a minute are allowed", "next": "ask again in 9 seconds"}
    page.route("**/ask/stream", lambda route: route.fulfill(status=429, json=refusal), times=1)
    page.locator("#question").fill(ITEMS)
    page.locator("#question").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("ask again in 9 seconds")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator(".short")).to_have_text("Up to twelve")
    expect(page.locator(".turn")).to_have_count(1)
    page.route("**/text?*", lambda route: route.fulfill(status=500, json={"detail": "no disk"}))
    page.locator(".source").first.click()
    expect(page.locator(".panel").get_by_role("alert")).to_contain_text("no disk")
    page.unroute("**/text?*")
    page.locator(".panel").get_by_role("button", name="Try again").click()
    expect(page.locator(".panel mark")).to_be_in_viewport()


def test_a_wrong_limit_is_pointed_out(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen()
    page.get_by_role("button", name="Budget").click()
    page.get_by_label("Tokens at most").fill("-5")
    page.get_by_role("button", name="Budget").click()
    page.locator("#question").fill(ITEMS)
    page.locator("#question").press("Enter")
    expect(page.get_by_label("Tokens at most")).to_be_focused()
    expect(page.locator(".turn")).to_have_count(0)


def test_documents_are_added_by_drag_and_drop_and_failures_have_reasons(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.open_screen("#/documents")
    expect(page.locator("table.documents tbody tr")).not_to_have_count(0)
    dropped = page.evaluate_handle(
        """() => {
            const data = new DataTransfer();
            const text = "# Harbour crane\\n\\nThe crane lifts 12 tonnes.";
            data.items.add(new File([text], "crane.md"));
            data.items.add(new File(["%PDF-1.4 nonsense"], "broken.pdf"));
            const record = '{"_id": "c1", "text": "The crane is painted every spring."}';
            data.items.add(new File([record], "faq.jsonl"));
            return data;
        }"""
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    job = page.locator(".job.over")
    expect(job).to_contain_text("Done · 3 of 3 files")
    expect(job.locator("li", has_text="crane.md")).to_contain_text("was added")
    expect(job.locator("li", has_text="broken.pdf")).to_contain_text("damaged PDF")
    row = page.locator("tr", has_text="Harbour crane")
    expect(row).to_be_visible()
    untitled = page.get_by_role("link", name="faq.jsonl#c1")
    expect(untitled).to_be_visible()
    page.get_by_role("button", name="Remove faq.jsonl#c1").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(untitled).to_have_count(0)
    expect(page.locator("table.documents button:focus")).to_have_count(1)
    page.get_by_label("Filter by title or file").fill("crane")
    expect(page.locator("table.documents tbody tr")).to_have_count(1)
    row.get_by_role("button", name="Remove Harbour crane").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    expect(page.get_by_text("No document has these words")).to_be_visible()


def test_the_outline_of_a_document_links_to_its_sections(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen("#/documents")
    page.get_by_role("link", name="Rules of the Merrow Town Library").click()
    expect(page.locator(".outline li")).to_have_count(4)
    page.locator(".outline").get_by_role("button", name="Late returns").click()
    expect(page.locator(".lines .heading[data-here]")).to_have_text("Late returns")
    expect(page.locator(".lines")).to_contain_text("Film or game | 0.50 crowns")


def test_a_document_of_a_site_links_to_its_page(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen("#/documents")
    page.get_by_role("link", name="Pilotage").click()
    origin = page.get_by_role("link", name="https://public.example/pilotage/")
    expect(origin).to_have_attribute("href", "https://public.example/pilotage/")
    expect(origin).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(page.locator(".lines")).to_contain_text("Pilots board ships")


def test_a_late_text_does_not_replace_the_section_asked_for_after_it(
    watched_page: WatchedTab,
) -> None:
    page = watched_page.open_screen("#/documents")
    requests: list[Route] = []
    page.route(
        "**/text?*",
        lambda route: requests.append(route) if not requests else route.continue_(),
    )
    page.get_by_role("link", name="Rules of the Merrow Town Library").click()
    page.locator(".outline").get_by_role("button", name="Late returns").click()
    section = page.locator(".lines .heading[data-here]")
    expect(section).to_have_text("Late returns")
    with page.expect_response("**/text?*") as late:
        requests[0].continue_()
    late.value.finished()
    page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
    expect(section).to_have_text("Late returns")


def test_a_link_to_a_quote_opens_it(watched_page: WatchedTab) -> None:
    page = watched_page.ask(ITEMS)
    cited = page.evaluate(
        """async () => {
            const { get } = await import("/page/api.js");
            const { traces } = await get("/traces");
            const { lines } = await get("/traces/" + traces[0].id);
            return lines.findLast((line) => line.answer).answer.citations[0];
        }"""
    )
    place = f"#/documents/{cited['document']}?start={cited['start']}&end={cited['end']}"
    watched_page.open_screen(place)
    expect(page.locator("mark")).to_have_text(cited["quote"])
    expect(page.locator("mark")).to_be_in_viewport()


def test_a_trace_shows_how_an_answer_was_found_and_is_replayed(watched_page: WatchedTab) -> None:
    page = watched_page.ask(ITEMS)
    page.get_by_role("link", name="Show the trace").click()
    expect(page.get_by_role("heading", name=ITEMS)).to_be_visible()
    expect(page.locator(".tree")).to_contain_text("Searching")
    page.locator(".tree summary").first.click()
    expect(page.locator(".tree details[open] .facts")).to_contain_text("query")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("The same answer, byte for byte.")).to_be_visible()
    watched_page.open_screen("#/traces")
    expect(page.get_by_role("link", name=ITEMS).first).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    trace = {"id": "t", "question": "?", "strategy": "", "status": "answered", "started_at": ""}
    page.route(
        "**/traces?limit=*",
        lambda route: route.fulfill(
            json={"traces": [trace] * min(150, int(route.request.url.rpartition("=")[2]))}
        ),
    )
    watched_page.open_screen("#/traces")
    expect(page.locator(".card")).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".card")).to_have_count(150)


def test_a_long_question_does_not_push_the_others_out_of_the_history(phone: WatchedTab) -> None:
    phone.ask("Which bridge is it? " * 250)
    page = phone.open_screen("#/traces")
    card = page.locator(".card").first
    expect(card).to_contain_text("Which bridge is it?")
    box = card.bounding_box()
    assert box is not None
    assert box["height"] < 200


def test_two_strategies_answer_one_question_side_by_side(watched_page: WatchedTab) -> None:
    page = compare_strategies(watched_page, SKIP)
    expect(page.locator(".compared .answer")).to_have_count(2)
    table = page.locator(".verdict")
    expect(table).to_be_visible()
    assert re.search(r"naive\s+rrf", table.inner_text())
    expect(table.get_by_role("row", name=re.compile("Searches"))).to_be_visible()
    first, other = (page.locator(".compared").nth(n).bounding_box() for n in (0, 1))
    assert first is not None
    assert other is not None
    assert first["y"] == other["y"]


def compare_strategies(watched: WatchedTab, question: str) -> Page:
    """Ask naive and rrf the same question."""
    page = watched.open_screen("#/compare")
    second = page.locator("select[aria-label='Strategy 2']")
    second.locator("option[value=rrf]").wait_for(state="attached")
    second.select_option("rrf")
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator(".verdict table").wait_for()
    return page


def test_reports_are_shown_with_their_plots(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen("#/reports")
    page.get_by_role("link", name="Fathom: evaluation of samples").click()
    expect(page.get_by_role("heading", name="Who leads")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("F1"))).to_contain_text("0.71")
    plot = page.get_by_role("img", name="Risk. Lower is better.")
    expect(plot).to_be_visible()
    assert plot.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_the_page_can_be_used_with_the_keyboard_alone(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen("#/documents")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Filter by title or file")).to_be_focused()
    watched_page.ask(SKIP)
    page.locator("main").focus()
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#question")).to_have_value(SKIP)
    watched_page.ask(ITEMS)
    source = page.locator(".source").first
    source.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".panel mark")).to_be_visible()
    expect(page.locator(".panel [data-close]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()
    expect(source).to_be_focused()


def test_the_arrow_keys_move_through_a_list(watched_page: WatchedTab) -> None:
    page = watched_page.open_screen("#/documents")
    links = page.locator("table.documents tbody a")
    links.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(links.first).to_be_focused()


def test_colours_follow_the_system_and_the_switch(chrome: Browser, server: str) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with open_tab(chrome, server, scheme="dark") as dark:
        page = dark.open_screen()
        night = page.evaluate(ground)
        page.get_by_role("button", name="Light colours").click()
        day = page.evaluate(ground)
        assert night != day
        page.reload()
        assert page.evaluate(ground) == day
        expect(page.get_by_role("button", name="Dark colours")).to_be_visible()
        assert dark.list_faults() == []


def test_the_page_speaks_english_and_indonesian(chrome: Browser, server: str) -> None:
    with open_tab(chrome, server, language="id-ID") as indonesian:
        page = indonesian.open_screen()
        expect(page.locator("html")).to_have_attribute("lang", "id")
        expect(page.get_by_role("heading", name="Apa yang ingin Anda ketahui?")).to_be_visible()
        indonesian.ask("Berapa berat paling besar kantong sampah?")
        expect(page.locator(".sure")).to_contain_text("dari 100 jawaban seperti ini benar")
        page.get_by_label("Bahasa").select_option("en")
        expect(page.get_by_label("Language")).to_be_focused()
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.get_by_role("link", name="New question")).to_be_visible()
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", "en")
        assert indonesian.list_faults() == []


def test_a_phone_needs_no_horizontal_scrolling(phone: WatchedTab) -> None:
    page = phone.ask(SKIP)
    page.evaluate(
        """async () => {
            const { answerView } = await import("/page/answer.js");
            const long = "Donaudampfschiff".repeat(20);
            const citation = { n: 1, title: long, path: long, section: long, quote: long };
            document.querySelector(".turn").append(answerView({
                status: "answered", answer: long, citations: [citation], conflicts: [],
                confidence: null, warnings: [long],
            }));
        }"""
    )
    for place in (None, "#/documents", "#/compare", "#/traces", "#/reports"):
        if place:
            phone.open_screen(place)
            page.locator("h1").wait_for()
        assert list_overflow(page) == [], place
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE, place
    page.get_by_role("button", name="Open the menu").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Open the menu")).to_be_focused()
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    expect(page.locator(".side")).not_to_be_in_viewport()


def test_on_a_phone_a_source_covers_the_answer_until_it_is_closed(phone: WatchedTab) -> None:
    page = phone.ask(ITEMS)
    page.locator(".source").first.tap()
    expect(page.locator(".panel mark")).to_be_in_viewport()
    box = page.locator(".panel").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, PHONE)
    page.emulate_media(media="print")
    printed = page.locator(".panel").bounding_box()
    assert printed is not None
    assert printed["y"] > box["y"], "the source is printed over the answer"
    page.emulate_media(media="screen")
    page.locator(".panel").get_by_role("button", name="Close").tap()
    expect(page.locator(".answer")).to_be_in_viewport()


def list_overflow(page: Page) -> list[str]:
    """Return the elements that are wider than the screen."""
    elements: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main, main *:not(.visually-hidden)")]
            .filter((each) => !each.closest(".scroll") && each.checkVisibility() &&
                each.getBoundingClientRect().right > innerWidth + 1)
            .map((each) => each.outerHTML.slice(0, 120))"""
    )
    return elements


SCREENS = ("#/", "#/documents", "#/compare", "#/traces", "#/reports", "#/sources")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_screen_is_accessible(chrome: Browser, server: str, scheme: str, width: int) -> None:
    problems: list[str] = []
    # The checker is injected as a script, which the policy of the page refuses: it stands aside.
    with open_tab(chrome, server, scheme=scheme, width=width, trusting=True) as watched:
        page = watched.page

        def check(name: str) -> None:
            violations = Axe().run(page).response["violations"]
            problems.extend(
                f"{name} {violation['id']}: {violation['nodes'][0]['html'][:160]}"
                for violation in violations
                if violation["impact"] in {"serious", "critical"}
            )

        for screen in SCREENS:
            watched.open_screen(screen)
            page.locator("h1").wait_for()
            page.wait_for_load_state("networkidle")
            check(screen)
        watched.ask(SKIP, strategy="maf")
        page.locator(".work summary").first.click()
        page.get_by_text("What it cost").click()
        check("debate")
        page.locator(".claim button").first.click()
        page.locator(".panel .document-title").wait_for()
        check("source")
        page.keyboard.press("Escape")  # on a phone the source covers all
        page.get_by_role("link", name="Show the trace").click()
        page.locator(".tree summary").first.click()
        check("trace")
        watched.ask(POOL)
        page.get_by_role("button", name="I know the answer").click()
        page.get_by_role("button", name="Budget").click()
        check("abstention")
        watched.open_screen("#/reports")
        page.locator(".card").first.click()
        page.locator(".plots img").wait_for()
        check("report")
    assert problems == []


def test_pictures_of_the_screens_are_taken(
    chrome: Browser, server: str, request: pytest.FixtureRequest
) -> None:
    folder = request.config.getoption("--pictures")
    if not folder:
        pytest.skip("pictures are made on demand: pytest --pictures docs/images")
    taken = take_pictures(chrome, server, Path(folder))
    assert all(path.stat().st_size < 150_000 for path in taken)


def take_pictures(chrome: Browser, server: str, folder: Path) -> list[Path]:
    """Take the pictures of the documentation."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_tab(chrome, server) as wide:
        page = wide.ask(SHELTER)
        page.locator(".source").first.click()
        expect(page.locator(".panel img.page")).to_have_attribute("alt", re.compile("Page 2"))
        taken = [save_picture(page, folder / "page-answer.png")]
        wide.ask(SKIP, strategy="maf")
        taken.append(save_picture(page, folder / "page-conflict.png"))
        page.locator(".work summary").first.click()
        page.evaluate("document.querySelector('.column').scrollTo(0, 60)")
        taken.append(save_picture(page, folder / "page-debate.png"))
        wide.open_screen("#/documents")
        page.locator("table.documents tbody tr").first.wait_for()
        taken.append(save_picture(page, folder / "page-documents.png"))
        compare_strategies(wide, SHELTER)
        taken.append(save_picture(page, folder / "page-compare.png"))
    with open_tab(chrome, server, scheme="dark") as dark:
        page = dark.ask(ITEMS, strategy="adaptive")
        page.get_by_role("link", name="Show the trace").click()
        page.get_by_role("button", name="Replay").click()
        page.get_by_text("byte for byte").wait_for()
        taken.append(save_picture(page, folder / "page-trace-dark.png"))
    with open_tab(chrome, server, width=PHONE, scheme="dark") as small:
        taken.append(save_picture(small.ask(POOL), folder / "page-phone.png"))
    return taken


def save_picture(page: Page, path: Path) -> Path:
    """Save the screen with few colours, and so in few bytes."""
    from PIL import Image

    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    with Image.open(path) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


PARSE_MODULES = """
const {readFileSync} = require("fs"), {SourceTextModule} = require("vm");
for (const file of process.argv.slice(1))
  new SourceTextModule(readFileSync(file, "utf8"), {identifier: file});
"""


def test_the_modules_are_valid_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    modules = sorted((ROOT / "src/fathom/serving/http/page").glob("*.js"))
    assert modules
    # One process parses them all, as the start of another takes longer than a module.
    parse = [node, "--experimental-vm-modules", "--no-warnings", "-e", PARSE_MODULES]
    done = subprocess.run([*parse, *modules], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    broken = tmp_path / "broken.js"
    broken.write_text("let a = ;")
    done = subprocess.run([*parse, *modules, broken], capture_output=True, check=False)
    assert done.returncode
    assert str(broken) in done.stderr.decode()
