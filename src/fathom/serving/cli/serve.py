"""The command that serves the page and the HTTP interfaces."""

import sys
from typing import Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    LlmOption,
    OfflineOption,
    SetOption,
    StrategyOption,
    build_engine,
)

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def serve(
    index: IndexOption = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any.")] = 8000,
    strategy: StrategyOption = None,
    llm: LlmOption = None,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Serve the page, the API and the OpenAI-compatible interface until Ctrl-C."""
    try:
        from fathom.serving.http.running import run
    except ModuleNotFoundError as error:
        raise UsageError(f"fathom serve needs {error.name}: pip install 'fathom[serve]'") from None
    if host not in LOOPBACK:
        raise UsageError(f"--host {host}: others could ask without a key; only 127.0.0.1 is served")
    flags = {"ask.strategy": strategy, "llm.model": llm}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        settings = engine.settings

    def told(address: str) -> None:
        sys.stderr.write(f"fathom: open {address} (Ctrl-C ends it)\n")

    run(settings, host=host, port=port, on_open=told)
