"""The page: static files, served with a policy that lets nothing run but its own modules."""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

from fathom.serving.http.problems import Problem

router = APIRouter(include_in_schema=False)
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Scripts and styles of this server only; pictures also of what the page itself has fetched."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The files belong together and have no versions in their names: browsers ask each time
    # whether they are still the same, which costs them nothing on loopback.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """A file of the page: `tag` is its entity tag."""

    content: bytes
    kind: str
    tag: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """All files of the page by name; nothing else can be asked for."""
    folder = files("fathom.serving.http") / "page"
    return {each.name: _read(each.name, each.read_bytes()) for each in folder.iterdir()}


def _read(name: str, content: bytes) -> PageFile:
    kind = KINDS.get(f".{name.rpartition('.')[2]}") or mimetypes.guess_type(name)[0]
    tag = f'"{sha256(content).hexdigest()[:20]}"'
    return PageFile(content=content, kind=kind or "application/octet-stream", tag=tag)


@router.get("/")
def page(request: Request) -> Response:
    """The one page; all of its screens are addresses behind `#`."""
    return _sent("index.html", request)


@router.get("/page/{name}")
def page_file(name: str, request: Request) -> Response:
    """A module, the style or the icon."""
    return _sent(name, request)


@router.get("/favicon.ico")
def favicon(request: Request) -> Response:
    """The icon, for who asks where browsers asked before."""
    return _sent("favicon.svg", request)


def _sent(name: str, request: Request) -> Response:
    found = page_files().get(name)
    if found is None:
        raise Problem(404, "not_found", f"there is no file {name[:80]!r} here")
    headers = {**HEADERS, "ETag": found.tag}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)
