"""Tools for other agents at /mcp of the server, where the extra `mcp` is installed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from fathom.engine import Engine
from fathom.errors import RunError
from fathom.serving.http.access import Caller
from fathom.serving.http.asking import Asked, Asking
from fathom.serving.http.dependencies import caller, read
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import while_connected
from fathom.serving.http.workspaces import Workspace, Workspaces
from fathom.types import Answer
from fathom.usage import Budget

PATH = "/mcp"


@dataclass(frozen=True)
class KeyDesk:
    """Where the calls of a key go: to its workspace, in its turn, on its account."""

    asking: Asking
    caller: Caller
    space: Workspace

    @property
    def engine(self) -> Engine:
        """That of the workspace."""
        return self.space.engine

    async def answer(
        self, question: str, *, strategy: str | None, filters: Sequence[str], budget: Budget
    ) -> Answer:
        """See `Engine.ask`.

        Raises:
            RunError: Also if there is too much to do, or the key's budget is spent.
        """
        asked = Asked(question=question, strategy=strategy, filters=filters, budget=budget)
        try:
            return await self.asking.answer(self.caller, self.space, asked)
        except Problem as problem:
            raise RunError("; ".join(filter(None, (str(problem), problem.next)))) from None


class Tools:
    """The tools as a part of the application; loaded when they are first asked for."""

    def __init__(self) -> None:
        self._wanted: asyncio.Event | None = None
        self._served: asyncio.Future[Starlette] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the length of a `with` block, which is that of the application."""
        self._wanted, self._served = asyncio.Event(), asyncio.get_running_loop().create_future()
        over = asyncio.Event()
        work = asyncio.create_task(self._run(self._wanted, self._served, over))
        try:
            yield
        finally:
            over.set()
            self._wanted.set()
            await work

    async def _run(
        self, wanted: asyncio.Event, served: "asyncio.Future[Starlette]", over: asyncio.Event
    ) -> None:
        await wanted.wait()
        if over.is_set():
            return
        app = await asyncio.to_thread(_made)
        # The SDK's tasks live as long as this one: they belong to no request.
        async with app.router.lifespan_context(app):
            served.set_result(app)
            await over.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI; a client that leaves ends what it asked for.

        Raises:
            Problem: If the caller is not known, or may not read.
        """
        request = Request(scope, receive)
        known = await read(await caller(request))
        spaces: Workspaces = request.app.state.workspaces
        desk = KeyDesk(request.app.state.asking, known, spaces.of(known))
        try:
            whole = _Whole(await request.body())
        except ClientDisconnect:
            return  # nobody is there to be told
        await while_connected(request, self._reply(desk, scope, whole, send))

    async def _reply(self, desk: KeyDesk, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._wanted is not None
        assert self._served is not None
        self._wanted.set()
        app = await asyncio.shield(self._served)

        from fathom.serving.mcp import at_desk

        await app(at_desk(scope, desk), receive, send)


class _Whole:
    """What an ASGI application receives whose request has been read, and whose client stays."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _made() -> Starlette:
    from fathom.serving.mcp import http_app, mcp_server

    return http_app(mcp_server(), hosts=None)  # the guard of the server has seen to the host


def install(app: FastAPI) -> None:
    """Serve the tools at `PATH`, while `app.state.tools` is running."""
    app.state.tools = Tools()
    if find_spec("mcp") is not None:
        app.router.routes.append(Route(PATH, app.state.tools))
