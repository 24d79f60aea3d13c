"""Runs the application in uvicorn, and ends it within seconds of being told to."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from fathom.errors import UsageError
from fathom.serving.http.app import access_of, create_app
from fathom.serving.http.guard import LOOPBACK
from fathom.serving.listening import listening
from fathom.settings import Settings

GRACE_S = 5
"""Streams that are open when the server is to end have so long."""
WAITING = 2048
"""Connections that the kernel keeps until they are accepted."""


class Server(uvicorn.Server):
    """Lets the application know at once that it is to end."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end)
        super().handle_exit(sig, frame)

    def _end(self) -> None:
        self._app.state.stopping.tell()
        self._app.state.asking.admission.close()


def run(
    settings: Settings, *, host: str, port: int, on_open: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until a signal ends it; others than this machine are served only where keys are asked.

    Args:
        settings: What the command line would use.
        host: The address to listen at.
        port: 0 takes any that is free.
        on_open: Told the address of the page, once it can be opened.

    Raises:
        UsageError: If the address cannot be listened at, or others would reach it and there is no
            key.
    """
    access = access_of(settings, required=host not in LOOPBACK)
    access.needs_key()  # so that it is known, whatever becomes of the keys from here on
    if host not in LOOPBACK and not access.keys.any():
        raise UsageError(
            f"--host {host}: others could ask without a key; make one with `fathom keys add NAME`, "
            "or serve 127.0.0.1 only"
        )
    listener = listening(host, port, waiting=WAITING)
    app = create_app(settings, access)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
        backlog=WAITING,
    )
    name = f"[{host}]" if ":" in host else host
    on_open(f"http://{name}:{listener.getsockname()[1]}/")
    Server(app, config).run(sockets=[listener])
