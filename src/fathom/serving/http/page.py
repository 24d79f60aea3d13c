"""The routes of the page: static files under a policy that runs only the page's own modules."""

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
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
CONTENT_POLICY = "; ".join(
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
"""Scripts and styles of this server only; pictures also from data that the page fetched."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The files belong together but have no versions in their names: browsers revalidate each
    # time, which costs almost nothing on loopback.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """A file of the page with its media type and entity tag."""

    content: bytes
    kind: str
    tag: str


@cache
def load_page_files() -> Mapping[str, PageFile]:
    """Load all files of the page, by name; no other file is served."""
    folder = files("fathom.serving.http") / "page"
    return {file.name: _load_page_file(file.name, file.read_bytes()) for file in folder.iterdir()}


def _load_page_file(name: str, content: bytes) -> PageFile:
    kind = MEDIA_TYPES.get(f".{name.rpartition('.')[2]}") or mimetypes.guess_type(name)[0]
    tag = f'"{sha256(content).hexdigest()[:20]}"'
    return PageFile(content=content, kind=kind or "application/octet-stream", tag=tag)


@router.get("/")
def get_page(request: Request) -> Response:
    """Get the only page; the part of an address after `#` names one of its screens."""
    return _send_page_file("index.html", request)


@router.get("/page/{name}")
def get_page_file(name: str, request: Request) -> Response:
    """Get a script, the style sheet or the icon."""
    return _send_page_file(name, request)


@router.get("/favicon.ico")
def get_favicon(request: Request) -> Response:
    """Get the icon at the address that older browsers use."""
    return _send_page_file("favicon.svg", request)


def _send_page_file(name: str, request: Request) -> Response:
    page_file = load_page_files().get(name)
    if page_file is None:
        raise Problem(404, "not_found", f"there is no file {name[:80]!r} here")
    headers = {**HEADERS, "ETag": page_file.tag}
    if page_file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(page_file.content, media_type=page_file.kind, headers=headers)
