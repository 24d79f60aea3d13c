"""A real browser on the real server over the samples."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

PROGRAMS = (
    "chromium-headless-shell",  # without windows of its own: a quarter less work
    *("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"),
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_MS = 30_000
"""So long the tests wait for what the page is to show; nothing is measured by it."""
WIDE, PHONE = 1280, 390
"""Widths of the two screens, in pixels."""


def explain_absence() -> str:
    """Return why there is no browser to test with; empty if there is one."""
    return "" if _find_program() else f"no browser: none of {', '.join(PROGRAMS)} is installed"


def _find_program() -> str | None:
    return next((program for name in PROGRAMS if (program := shutil.which(name))), None)


@dataclass
class ServerProcess:
    """The server in a child process.

    Attributes:
        address: Of the page, without a slash at its end.
        index: Its directory.
    """

    address: str
    index: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(30)


def serve(index: Path, *options: str) -> ServerProcess:
    """Serve an index; returns when the server is ready to answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "fathom", "serve", "--index", str(index)]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--offline", *options],
        env={**os.environ, "HOME": str(index.parent)},
        stderr=subprocess.DEVNULL,
    )
    served = ServerProcess(f"http://127.0.0.1:{port}", index, process)
    for _ in range(600):
        try:
            with urlopen(f"{served.address}/readyz", timeout=5) as reply:
                if reply.status == 200:
                    return served
        except (URLError, OSError):
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}") from None
        time.sleep(0.1)
    served.stop()
    raise RuntimeError("the server is not ready after a minute")


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield the browser."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_find_program(), args=[*FLAGS])
        yield chromium
        chromium.close()


@dataclass
class WatchedTab:
    """A tab with records of its console messages and of its requests to other hosts.

    Attributes:
        expected: Words of messages of the browser itself that the test brings about.
    """

    page: Page
    context: BrowserContext
    address: str
    messages: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    visits: int = 0

    def open_screen(self, place: str = "#/") -> Page:
        """Open a screen under a new address, so that the page is loaded again."""
        self.visits += 1
        self.page.goto(f"{self.address}/?{self.visits}{place}")
        return self.page

    def ask(self, question: str, *, strategy: str = "") -> Page:
        """Ask in a new conversation and wait for the answer."""
        page = self.open_screen()
        if strategy:
            chosen = page.get_by_label("Strategy", exact=True)
            chosen.locator(f"option[value={strategy}]").wait_for(state="attached")
            chosen.select_option(strategy)
        self.ask_follow_up(question)
        return page

    def ask_follow_up(self, question: str) -> None:
        """Ask in the open conversation and wait for the answer."""
        answers = self.page.locator(".answer").count()
        self.page.locator("#question").fill(question)
        self.page.locator("#question").press("Enter")
        self.page.locator(".answer").nth(answers).wait_for()

    def list_faults(self) -> list[str]:
        """Return the forbidden things that this page has done."""
        messages = [
            message
            for message in self.messages
            if not any(word in message for word in self.expected)
        ]
        return [*messages, *(f"asked outside: {address}" for address in self.outside)]


@contextmanager
def open_tab(
    browser: Browser,
    address: str,
    *,
    width: int = WIDE,
    scheme: str = "light",
    language: str = "en-GB",
    touch: bool = False,
    trusting: bool = False,
) -> Iterator[WatchedTab]:
    """Open a new isolated tab; requests to other hosts are blocked.

    Args:
        browser: Where it is opened.
        address: Of the server.
        width: Of the screen.
        scheme: `light` or `dark`, as the system would say.
        language: Of the browser.
        touch: Whether it is touched rather than clicked.
        trusting: Whether the policy of the page is left aside, for checkers that inject scripts.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 800 if width > 600 else 844},
        color_scheme="dark" if scheme == "dark" else "light",
        locale=language,
        has_touch=touch,
        reduced_motion="reduce",
        bypass_csp=trusting,
    )
    context.set_default_timeout(PATIENCE_MS)
    watched = WatchedTab(context.new_page(), context, address)
    page = watched.page
    page.on("console", lambda message: watched.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: watched.messages.append(f"error: {error}"))

    def dismiss(dialog: Dialog) -> None:
        watched.messages.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(request: Request) -> None:
        if not request.url.startswith((f"{address}/", "blob:", "data:")):
            watched.outside.append(request.url)

    page.on("dialog", dismiss)

    context.on("request", note_request)
    try:
        yield watched
    finally:
        context.close()
