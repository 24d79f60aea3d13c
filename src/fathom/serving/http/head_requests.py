"""HEAD, which every address that answers GET answers too, as HTTP asks for."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.serving.http.mcp import PATH as MCP_PATH


class HeadRequests:
    """An ASGI middleware that answers HEAD as GET; the server leaves the body out of the reply."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, one for a head as GET, as ASGI defines it."""
        # GET of the tools is a stream, which has no end.
        if scope.get("method") != "HEAD" or scope["path"] == MCP_PATH:
            await self._app(scope, receive, send)
            return
        # A request of its own: the server leaves out the body because this one stays HEAD.
        whole = {**scope, "method": "GET"}

        async def send_with_route(message: Message) -> None:
            # Those that count requests outside of this one read the route.
            if "route" in whole:
                scope["route"] = whole["route"]
            await send(message)

        await self._app(whole, receive, send_with_route)
