"""The commands that serve the page and the HTTP interfaces, and look after their keys."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    SetOption,
    StrategyOption,
    build_engine,
)

if TYPE_CHECKING:  # `--help` must not wait for it
    from fathom.serving.http.keys import Key, Keys

_CLOSED = (
    "nobody can ask until `fathom keys add NAME` makes one, or `fathom keys open` lets everybody "
    "on 127.0.0.1 ask without"
)
keys = typer.Typer(help="Keys of the server: who may ask, and how much.", no_args_is_help=True)


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
        raise UsageError(
            f"fathom serve needs {error.name}: pip install 'fathom-qa[serve]'"
        ) from None
    flags = {"ask.strategy": strategy, "llm.model": llm}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        settings = engine.settings

    def told(address: str) -> None:
        sys.stderr.write(f"fathom: open {address} (Ctrl-C ends it)\n")
        sys.stderr.flush()

    run(settings, host=host, port=port, on_open=told)


@keys.command("add")
def keys_add(
    name: Annotated[str, typer.Argument(help="Who holds it.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read (default), ingest, curate, admin; may be repeated."),
    ] = None,
    workspace: Annotated[str, typer.Option(help="Whose documents; by default the index's.")] = "",
    days: Annotated[float | None, typer.Option(min=0, help="It expires after so many.")] = None,
    per_minute: Annotated[int | None, typer.Option(min=0, help="Requests.")] = None,
    tokens_per_day: Annotated[int | None, typer.Option(min=0, help="Of language models.")] = None,
    usd_per_day: Annotated[float | None, typer.Option(min=0, help="Likewise.")] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key; it is shown once and kept nowhere. From then on nobody asks without one.

    Also not once no key is left: `fathom keys open` lets everybody on this machine ask again.
    """
    from fathom.serving.cli.output import show, show_json
    from fathom.serving.http.keys import Key, expiry

    wanted = Key(
        id="",
        name=name,
        workspace=workspace,
        scopes=frozenset(scope or ["read"]),  # type: ignore[arg-type]  # checked where it is kept
        expires=expiry(days),
        per_minute=per_minute,
        tokens_per_day=tokens_per_day,
        usd_per_day=usd_per_day,
    )
    with _keys(index) as kept:
        made, text = kept.add(wanted)
    if as_json:
        show_json({**_key_json(made), "key": text})
    else:
        show(f"{text}\nkept nowhere: copy it now; `fathom keys revoke {made.id}` ends it")


@keys.command("list")
def keys_list(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """All keys, with what they allow."""
    from fathom.serving.cli.output import show, show_json

    with _keys(index) as kept:
        found, door = kept.all(), kept.door()
    if as_json:
        show_json({"keys": [_key_json(each) for each in found], "door": door})
    else:
        nobody = (
            f"no keys; {_CLOSED}" if door == "closed" else "no keys: on 127.0.0.1 nobody needs one"
        )
        show("\n".join(map(_key_text, found)) or nobody)


@keys.command("revoke")
def keys_revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `fathom keys list` shows it.")],
    index: IndexOption = None,
) -> None:
    """Forget a key; who holds it can ask no more."""
    from fathom.serving.cli.output import show

    with _keys(index) as kept:
        if not kept.revoke(key_id):
            raise UsageError(f"no key {key_id!r}; `fathom keys list` shows them")
        is_last = not kept.any()
    show(f"{key_id} revoked" + (f"; it was the last: {_CLOSED}" if is_last else ""))


@keys.command("open")
def keys_open(index: IndexOption = None) -> None:
    """Let everybody on 127.0.0.1 ask without a key again, once no key is left."""
    from fathom.serving.cli.output import show

    with _keys(index) as kept:
        kept.open_door()
    show("on 127.0.0.1 nobody needs a key; `fathom keys add NAME` closes the server again")


@contextmanager
def _keys(index: str | None) -> "Iterator[Keys]":
    from fathom.serving.http.keys import keys_of

    with build_engine(index, None) as engine:
        kept = keys_of(engine.index)
        try:
            yield kept
        finally:
            kept.close()


def _key_json(key: "Key") -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(key), "scopes": sorted(key.scopes)}


def _key_text(key: "Key") -> str:
    limits = [
        f"until {key.expires}" if key.expires else "",
        f"{key.per_minute} requests a minute" if key.per_minute is not None else "",
        f"{key.tokens_per_day} tokens a day" if key.tokens_per_day is not None else "",
        f"{key.usd_per_day:g} USD a day" if key.usd_per_day is not None else "",
    ]
    where = f"workspace {key.workspace}" if key.workspace else "default workspace"
    return ", ".join([f"{key.id}  {key.name}", where, *sorted(key.scopes), *filter(None, limits)])
