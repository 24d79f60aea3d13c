"""An HTTP server on loopback that serves one file of weights, well or badly."""

import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fathom.llm.catalogue import ModelFile

WEIGHTS = b"GGUF" + bytes(range(256)) * 4_000
DIGEST = sha256(WEIGHTS).hexdigest()


@dataclass
class FileServer:
    """The server, and its next acts.

    Attributes:
        url: The address of the file.
        acts: An act for each of the next requests; afterwards the file is served well.
        ranges: The header `Range` of each request so far, empty without one.
        go_on: Set as soon as a reply that waits may go on.
    """

    url: str
    acts: "list[Act]" = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)

    def describe(self, **changes: object) -> ModelFile:
        """Return the file as the catalogue would describe it."""
        description = {"name": "tiny", "url": self.url, "sha256": DIGEST, "size": len(WEIGHTS)}
        return ModelFile(**(description | changes))  # type: ignore[arg-type]


Act = Callable[[BaseHTTPRequestHandler, FileServer], None]


@contextmanager
def serve_file(certificate: Path | None = None) -> Iterator[FileServer]:
    """Serve the file while the block runs, by https with a certificate."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            served.ranges.append(self.headers.get("Range", ""))
            self.close_connection = True
            with suppress(ConnectionError):  # the client has heard enough
                (served.acts.pop(0) if served.acts else send())(self, served)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False  # so that closing waits for all replies
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        served = FileServer(f"{scheme}://127.0.0.1:{server.server_port}/files/tiny.gguf")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield served
        finally:
            served.go_on.set()
            server.shutdown()
            thread.join()


def send(
    data: bytes = WEIGHTS,
    *,
    upto: int | None = None,
    waits: bool = False,
    has_ranges: bool = True,
    length: int | None = None,
) -> Act:
    """Send the file, or what the request asks of it.

    Args:
        data: The file.
        upto: The place at which the connection breaks, or waits.
        waits: Whether it waits there, and goes on when it may.
        has_ranges: Whether the server knows ranges.
        length: The length that it states, if not the true one.
    """

    def act(handler: BaseHTTPRequestHandler, server: FileServer) -> None:
        match = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        begin = int(match[1]) if match and has_ranges else 0
        if begin and begin >= len(data):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(data)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if begin else 200)
        if begin:
            handler.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str((length or len(data)) - begin))
        handler.end_headers()
        handler.wfile.write(data[begin:upto])
        handler.wfile.flush()
        if waits:
            server.go_on.wait(60)
            handler.wfile.write(data[upto:])

    return act


def redirect(url: str) -> Act:
    """Send the client to another address."""

    def act(handler: BaseHTTPRequestHandler, _: FileServer) -> None:
        handler.send_response(302)
        handler.send_header("Location", url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return act


def fail(status: int) -> Act:
    """Refuse."""

    def act(handler: BaseHTTPRequestHandler, _: FileServer) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return act
