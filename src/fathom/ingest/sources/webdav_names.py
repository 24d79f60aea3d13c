"""Names on WebDAV servers byte by byte, where the library reads some as other names."""

from typing import Any
from urllib.parse import quote, unquote

from httpx import URL
from typing_extensions import override
from webdav4.multistatus import Response

from fathom.ingest.sources.base import BYTES


class ByteUrl(URL):
    """A URL whose path keeps the bytes of names that are not UTF-8."""

    @property
    @override
    def path(self) -> str:
        return unquote(self.raw_path.decode("ascii").partition("?")[0], errors=BYTES)


def keep_names(client: Any, address: str) -> None:  # noqa: ANN401 - of `webdav4`
    """Let a client of WebDAV take and return names as the server has them.

    The library does not quote `#`, `?` and `%` in a name, and replaces bytes that are not UTF-8, so
    it asks for another file, and takes two folders for one.

    Args:
        client: The client.
        address: The URL of the folder with which the addresses of all files begin.
    """
    request_properties = client.propfind

    def join_url(path: str, add_trailing_slash: bool = False) -> URL:
        end = "/" if add_trailing_slash else ""
        return ByteUrl(f"{address}/{quote(path.strip('/'), errors=BYTES)}".rstrip("/") + end)

    def propfind(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - of `webdav4`
        status = request_properties(*args, **options)
        replies = [Response(element) for element in status.tree.iterfind(".//{DAV:}response")]
        for reply in replies:
            reply.path = ByteUrl(reply.href).path
            reply.path_norm = reply.path.rstrip("/") or "/"
        status.responses = {reply.path_norm: reply for reply in replies}
        return status

    client.base_url = ByteUrl(address)
    client.join_url, client.propfind = join_url, propfind
