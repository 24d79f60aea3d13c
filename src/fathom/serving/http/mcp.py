"""The MCP tools at /mcp of the server, if the extra `mcp` is installed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeVar

from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from fathom.engine import Engine
from fathom.errors import RunError
from fathom.serving.http.access import Caller
from fathom.serving.http.dependencies import identify_caller, require_read
from fathom.serving.http.event_stream import run_while_connected
from fathom.serving.http.problems import Problem, StartedReply
from fathom.serving.http.question_runner import QuestionRunner, SubmittedQuestion
from fathom.serving.http.workspaces import Workspace, Workspaces
from fathom.types import Answer
from fathom.usage import Budget

T = TypeVar("T")
PATH = "/mcp"


@dataclass(frozen=True)
class KeyCallRunner:
    """The runner of a key's calls, in the key's workspace and within its budget."""

    asking: QuestionRunner
    caller: Caller
    space: Workspace

    @property
    def engine(self) -> Engine:
        """The engine of the workspace."""
        return self.space.engine

    async def answer(
        self,
        question: str,
        *,
        strategy: str | None,
        paper: str | None,
        filters: Sequence[str],
        budget: Budget,
    ) -> Answer:
        """Answer a question as `Engine.ask` does.

        Raises:
            RunError: As `Engine.ask`, and if the server is overloaded or the key's budget is spent.
        """
        submitted = SubmittedQuestion(
            question=question, strategy=strategy, paper=paper, filters=filters, budget=budget
        )
        with _explain_problem():
            return await self.asking.answer(self.caller, self.space, submitted)

    async def run_in_turn(self, work: Callable[[], T]) -> T:
        """Run work that costs as much as a question in a thread, once its turn has come.

        Raises:
            RunError: If the server is overloaded.
        """
        with _explain_problem():
            return await self.asking.run_in_turn(self.space, work)


@contextmanager
def _explain_problem() -> Iterator[None]:
    """Convert a problem that the block raises to an error whose line names the next step."""
    try:
        yield
    except Problem as problem:
        raise RunError(problem.build_message()) from None


class McpTools:
    """The MCP tools as an ASGI application, which is loaded at the first request."""

    def __init__(self) -> None:
        self._is_wanted: asyncio.Event | None = None
        self._app: asyncio.Future[Starlette] | None = None

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Serve the tools for the length of a `with` block, as long as the web application runs."""
        self._is_wanted, self._app = asyncio.Event(), asyncio.get_running_loop().create_future()
        end = asyncio.Event()
        task = asyncio.create_task(self._run_app(self._is_wanted, self._app, end))
        try:
            yield
        finally:
            end.set()
            self._is_wanted.set()
            await task

    async def _run_app(
        self, is_wanted: asyncio.Event, served: "asyncio.Future[Starlette]", end: asyncio.Event
    ) -> None:
        await is_wanted.wait()
        if end.is_set():
            return
        try:
            app = await asyncio.to_thread(_create_app)
        except Exception as error:  # noqa: BLE001 - every request reports it
            served.set_exception(error)
            return
        # The SDK's tasks belong to no request, so they run as long as this task.
        async with app.router.lifespan_context(app):
            served.set_result(app)
            await end.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as ASGI defines it; a client that leaves cancels its call.

        Raises:
            Problem: If the caller is unknown, or may not read.
        """
        request = Request(scope, receive)
        caller = await require_read(await identify_caller(request))
        spaces: Workspaces = request.app.state.workspaces
        runner = KeyCallRunner(request.app.state.asking, caller, spaces.get_workspace(caller))
        try:
            buffered = _BufferedReceive(await request.body())
        except ClientDisconnect:
            return  # the client has left
        reply = StartedReply(send)
        try:
            await run_while_connected(
                request, self._send_reply(runner, scope, buffered, reply.send)
            )
        except Problem:
            if not reply.has_begun:
                raise
            # The stream ends without a problem, because its status was sent already.
            await send({"type": "http.response.body"})

    async def _send_reply(
        self, runner: KeyCallRunner, scope: Scope, receive: Receive, send: Send
    ) -> None:
        assert self._is_wanted is not None
        assert self._app is not None
        self._is_wanted.set()
        app = await asyncio.shield(self._app)

        from fathom.serving.mcp import assign_runner

        await app(assign_runner(scope, runner), receive, send)


class _BufferedReceive:
    """The ASGI receive function of a request whose body was read, and whose client stays."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        # A second call waits for a disconnect, which `run_while_connected` handles instead.
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _create_app() -> Starlette:
    from fathom.serving.mcp import make_http_app, make_mcp_server

    return make_http_app(make_mcp_server(), hosts=None)  # the guard has checked the host


def install_tools(app: FastAPI) -> None:
    """Add the tools at `PATH` to an app; they serve while `app.state.tools` is running."""
    app.state.tools = McpTools()
    if find_spec("mcp") is not None:
        app.router.routes.append(Route(PATH, app.state.tools))
