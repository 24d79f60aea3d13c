"""The command `fathom mcp`, which serves tools to other agents."""

import os
import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.cached_index import choose_index, fill_beside
from fathom.serving.cli.errors import end_quietly
from fathom.serving.cli.options import (
    CallsOption,
    CostOption,
    DeadlineOption,
    DocsOption,
    EffortOption,
    IndexOption,
    LlmOption,
    MaxErrorOption,
    OfflineOption,
    PaperOption,
    SetOption,
    StrategyOption,
    TokensOption,
    build_engine,
    collect_run_flags,
)

if TYPE_CHECKING:  # only a server needs these
    from starlette.types import ASGIApp

    from fathom.serving.mcp import CallRunner

TOKEN_VARIABLE = "MCP_TOKEN"  # noqa: S105 - the name of a variable, not a token


def mcp(
    docs: DocsOption = None,
    index: IndexOption = None,
    over_http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --http: the port; 0 takes any free one.")
    ] = 8001,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="With --http: another host name of this server; may be repeated."),
    ] = None,
    token_env: Annotated[
        str, typer.Option(help="With --http: the variable that holds the bearer token.")
    ] = TOKEN_VARIABLE,
    strategy: StrategyOption = None,
    paper: PaperOption = None,
    llm: LlmOption = None,
    effort: EffortOption = None,
    max_tokens: TokensOption = None,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    deadline: DeadlineOption = None,
    max_error: MaxErrorOption = None,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Give other agents tools to ask and search the documents (Model Context Protocol)."""
    try:
        from fathom.serving.mcp import Bearer, LocalCallRunner, make_http_app, make_mcp_server
    except ModuleNotFoundError as error:
        raise UsageError(f"fathom mcp needs {error.name}: pip install 'fathom-qa[mcp]'") from None
    from hmac import compare_digest  # loads OpenSSL, which no other command needs

    flags = collect_run_flags(llm, effort, max_tokens, max_calls, max_cost, deadline)
    flags |= {"ask.strategy": strategy, "ask.paper": paper, "ask.max_error": max_error}
    place = choose_index(docs, index)
    with (
        build_engine(place, assignments, offline=offline, flags=flags) as engine,
        fill_beside(engine, docs),
    ):
        runner = LocalCallRunner(engine)
        if not over_http:
            # Nothing can stop the thread that reads stdin, so Ctrl-C ends the process at once.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # The output of libraries goes to stderr while the server runs. Output in a buffer would
            # be written to stdout once the server has ended.
            if isinstance(sys.stdout, TextIOWrapper):
                sys.stdout.reconfigure(line_buffering=True)
            sys.stderr.write("fathom: tools for the client on stdin and stdout (Ctrl-C ends it)\n")
            make_mcp_server(runner).run("stdio")
            return
        token = _read_token(host, token_env)

        def find_runner(key: str) -> "CallRunner | None":
            # The comparison takes the same time for every key, so that timing reveals nothing.
            return runner if compare_digest(key.encode(), token.encode()) else None

        http = make_http_app(make_mcp_server(), hosts=allow_host or ())
        _run_server(Bearer(http, find_runner), host, port)


def _read_token(host: str, variable: str) -> str:
    """Return the token that clients must send; if the variable is empty, make and print a new one.

    Raises:
        UsageError: If the variable is empty, and other machines can reach the server.
    """
    from secrets import token_urlsafe

    from fathom.serving.sockets import LOOPBACK

    if configured := os.environ.get(variable, ""):
        return configured
    if host not in LOOPBACK:
        raise UsageError(
            f"--host {host}: others could reach it; set {variable} to the token that clients send"
        )
    token = token_urlsafe(32)
    sys.stderr.write(
        f"fathom: Authorization: Bearer {token} (until this ends; or set {variable})\n"
    )
    return token


def _run_server(app: "ASGIApp", host: str, port: int) -> None:
    import uvicorn

    from fathom.serving.mcp import PATH
    from fathom.serving.sockets import UVICORN_OPTIONS, format_address, listen

    listener = listen(host, port)
    sys.stderr.write(f"fathom: {format_address(host, listener)}{PATH} (Ctrl-C ends it)\n")
    with end_quietly():
        uvicorn.Server(uvicorn.Config(app, **UVICORN_OPTIONS)).run(sockets=[listener])
