"""HEAD requests: every address that answers GET answers them too, as HTTP requires."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.serving.http.mcp import PATH as MCP_PATH


class HeadRequests:
    """An ASGI middleware that passes HEAD on as GET; the server leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; HEAD becomes GET."""
        # GET of the MCP endpoint opens a stream that has no end.
        if scope.get("method") != "HEAD" or scope["path"] == MCP_PATH:
            await self._app(scope, receive, send)
            return
        # A copy, because the server leaves out the body only if its own request stays HEAD.
        whole = {**scope, "method": "GET"}

        async def send_with_route(message: Message) -> None:
            # The counter of requests, which wraps this middleware, reads the route.
            if "route" in whole:
                scope["route"] = whole["route"]
            await send(message)

        await self._app(whole, receive, send_with_route)
