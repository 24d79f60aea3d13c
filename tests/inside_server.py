"""Addresses inside of a network, a server there, and one that redirects to them."""

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PUBLIC = "93.184.216.34"
NAMES = {
    "rebound.example": ["127.0.0.1"],
    "half.example": [PUBLIC, "127.0.0.1"],
    "private.example": ["192.168.1.1"],
    "linklocal.example": ["169.254.169.254"],
    "six.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nowhere.example": [],
    "metadata.google.internal": ["169.254.169.254"],
}
TARGETS = [
    "http://127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://127.0.0.2:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://017700000001:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[fe80::1]:{port}/",
    "http://[fd00::1]:{port}/",
    "http://10.0.0.1:{port}/",
    "http://172.16.0.1:{port}/",
    "http://192.168.0.1:{port}/",
    "http://100.64.0.1:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://224.0.0.1:{port}/",
    "http://255.255.255.255:{port}/",
    "http://rebound.example:{port}/",
    "http://half.example:{port}/",
    "http://private.example:{port}/",
    "http://linklocal.example/",
    "http://six.example:{port}/",
    "http://mapped.example:{port}/",
    "http://user:pass@127.0.0.1:{port}/",
    "http://public.example@127.0.0.1:{port}/",
    "http://public.example\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@public.example/",
    "http://127.0.0.1:{port}\t/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_GET",
    "ftp://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "http://nowhere.example:{port}/",
    "https://127.0.0.1:{port}/",
]


def resolve_host(host: str, port: int) -> list[str]:
    """Resolve the names of the tests, and others as the system does, which reads any form of
    number.
    """
    if host in NAMES or host == "public.example":
        return NAMES.get(host, [PUBLIC])
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port)]
    except OSError:
        return []


@dataclass
class InsideServer:
    """A server on this machine that must not be reached; its reply depends on the path."""

    port: int = 0
    asked: list[str] = field(default_factory=list)


@contextmanager
def serve_inside() -> Iterator[InsideServer]:
    """Serve on this machine, and yield the server with what it was asked."""
    server = InsideServer()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    request = connection.recv(65536).decode("latin-1")
                    # What is no HTTP counts as a request too.
                    path = request.split(" ")[1] if " " in request else request
                    server.asked.append(path)
                    if path.startswith("/to/"):
                        head = f"302 Found\r\nLocation: {path.removeprefix('/to/')}"
                        connection.sendall(f"HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n".encode())
                    else:
                        body = b"x" * int(path.partition("?")[2] or 5)
                        kind = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                        sent = f"{kind}Content-Length: {len(body)}\r\n\r\n".encode()
                        connection.sendall(sent + body)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


class Redirector(http.server.BaseHTTPRequestHandler):
    """A server that redirects each request to `target`."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_PROPFIND(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serve_redirector(certificate: str = "") -> Iterator[int]:
    """Serve redirections, with TLS if there is a certificate, and yield the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirector) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()
