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
    Route,
    expect,
    sync_playwright,
)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PATIENCE_MS = 30_000
"""So long the tests wait for what the page is to show; nothing is measured by it."""
WIDE, PHONE = 1280, 390
"""Widths of the two screens, in pixels."""


def why_absent() -> str:
    """Why there is no browser to test with; empty where there is one."""
    return "" if _program() else f"no browser: none of {', '.join(PROGRAMS)} is installed"


def _program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@dataclass
class Served:
    """The server in a process of its own.

    Attributes:
        address: Of the page, without a slash at its end.
        index: Its directory.
    """

    address: str
    index: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)


def serve(index: Path, *options: str) -> Served:
    """Serve an index; returns when the server is ready to answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "fathom.serving.cli", "serve", "--index", str(index)]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--offline", *options],
        env={**os.environ, "HOME": str(index.parent)},
        stderr=subprocess.DEVNULL,
    )
    served = Served(f"http://127.0.0.1:{port}", index, process)
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
    """The browser."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=_program(), args=[*FLAGS])
        yield found
        found.close()


@dataclass
class Watched:
    """A tab that is watched: what it says on the console, and where it sends requests.

    Attributes:
        expected: Words of messages of the browser itself that the test brings about.
    """

    page: Page
    context: BrowserContext
    address: str
    said: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    visits: int = 0

    def visit(self, place: str = "#/") -> Page:
        """Open a screen anew: another address than before, so that the page is loaded again."""
        self.visits += 1
        self.page.goto(f"{self.address}/?{self.visits}{place}")
        return self.page

    def ask(self, question: str, *, strategy: str = "") -> Page:
        """Ask in a new conversation and wait for the answer."""
        page = self.visit()
        if strategy:
            chosen = page.get_by_label("Strategy", exact=True)
            chosen.locator(f"option[value={strategy}]").wait_for(state="attached")
            chosen.select_option(strategy)
        self.further(question)
        return page

    def further(self, question: str) -> None:
        """Ask in the conversation that is open and wait for the answer."""
        answers = self.page.locator(".answer").count()
        self.page.locator("#question").fill(question)
        self.page.locator("#question").press("Enter")
        self.page.locator(".answer").nth(answers).wait_for()

    def faults(self) -> list[str]:
        """What a page must never do and this one has done."""
        said = [each for each in self.said if not any(word in each for word in self.expected)]
        return [*said, *(f"asked outside: {address}" for address in self.outside)]


@contextmanager
def tab(
    browser: Browser,
    address: str,
    *,
    width: int = WIDE,
    scheme: str = "light",
    language: str = "en-GB",
    touch: bool = False,
    trusting: bool = False,
) -> Iterator[Watched]:
    """A tab of its own, that knows nothing of others; nothing reaches outside.

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
    watched = Watched(context.new_page(), context, address)
    page = watched.page
    page.on("console", lambda message: watched.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: watched.said.append(f"error: {error}"))

    def dismissed(dialog: Dialog) -> None:
        watched.said.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def stopped(route: Route) -> None:
        if route.request.url.startswith((f"{address}/", "blob:")):
            route.continue_()
        else:
            watched.outside.append(route.request.url)
            route.abort()

    page.on("dialog", dismissed)

    context.route("**/*", stopped)
    try:
        yield watched
    finally:
        context.close()
