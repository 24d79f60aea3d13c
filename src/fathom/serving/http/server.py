"""The application in uvicorn, which ends within seconds of a signal."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from fathom.errors import UsageError
from fathom.redaction import open_log
from fathom.serving.http.app import build_access, create_app
from fathom.serving.http.trusted_proxy import TrustedProxy
from fathom.serving.sockets import LOOPBACK, UVICORN_OPTIONS, format_address, listen
from fathom.settings import Settings

if TYPE_CHECKING:  # needs the extra `oidc`
    from fathom.serving.http.sign_on import SignOn

WAITING = 2048
"""The number of connections that the kernel queues until they are accepted."""


class FathomServer(uvicorn.Server):
    """A uvicorn server that announces its end to the application as soon as a signal comes."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        super().__init__(config)
        for name in ("uvicorn.error", "asyncio"):
            open_log(name)
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is not None:
            # A signal handler interrupts any code, so it only schedules the work.
            self._loop.call_soon_threadsafe(self._announce_end)
        super().handle_exit(sig, frame)

    def _announce_end(self) -> None:
        self._app.state.stopping.announce()
        self._app.state.asking.admission.close()


def run(
    settings: Settings,
    *,
    host: str,
    port: int,
    audit_days: float | None = None,
    sign_on: "TrustedProxy | SignOn | None" = None,
    on_open: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until a signal ends the server; serve other machines only if each caller is identified.

    Args:
        settings: The settings, as the command line would use them.
        host: The address to listen at.
        port: The port; 0 takes any free one.
        audit_days: The days for which the audit log stores lines; `None` to write none.
        sign_on: The reverse proxy or the issuer that signs users on, if there is one.
        on_open: Called with the address of the page once it can be opened.

    Raises:
        UsageError: If the address is empty or cannot be listened at, or if other machines can reach
            it and there is neither a key nor a sign-on.
    """
    # A socket takes an empty address for all of this machine's, which a script rarely means.
    if not host.strip():
        raise UsageError("--host is empty; name an address, such as 127.0.0.1, or 0.0.0.0 for all")
    access = build_access(settings, required=host not in LOOPBACK or sign_on is not None)
    access.needs_key()  # remembers that keys exist, even if their database is deleted later
    if host not in LOOPBACK and sign_on is None and not access.keys.has_keys():
        raise UsageError(
            f"--host {host}: others could ask without a key; make one with `fathom keys add NAME`, "
            "or serve 127.0.0.1 only"
        )
    listener = listen(host, port, backlog=WAITING)
    app = create_app(settings, access, audit_days=audit_days, sign_on=sign_on)
    config = uvicorn.Config(
        app,
        timeout_keep_alive=30,
        backlog=WAITING,
        # `X-Forwarded-For` would replace the address of the connection, by which a proxy is known.
        proxy_headers=not isinstance(sign_on, TrustedProxy),
        **UVICORN_OPTIONS,
    )
    on_open(f"{format_address(host, listener)}/")
    FathomServer(app, config).run(sockets=[listener])
