"""The commands `fathom keys`, which manage who may ask the server, and how much."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import IndexOption, JsonOption, build_engine

if TYPE_CHECKING:  # `--help` must not wait for this import
    from fathom.serving.http.keys import Key, Keys

_CLOSED_HINT = (
    "nobody can ask before `fathom keys add NAME` makes a key, or `fathom keys open` lets "
    "everybody on 127.0.0.1 ask without one"
)
keys = typer.Typer(help="Keys of the server: who may ask, and how much.", no_args_is_help=True)


@keys.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="The holder of the key.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read (default), ingest, curate, admin; may be repeated."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="A group whose documents the holder may read; '*' for all documents."),
    ] = None,
    workspace: Annotated[
        str, typer.Option(help="The workspace; by default the index itself.")
    ] = "",
    days: Annotated[float | None, typer.Option(min=0, help="Days until it expires.")] = None,
    per_minute: Annotated[
        int | None, typer.Option(min=0, help="Limit of requests a minute.")
    ] = None,
    tokens_per_day: Annotated[
        int | None, typer.Option(min=0, help="Limit of tokens a day.")
    ] = None,
    usd_per_day: Annotated[
        float | None, typer.Option(min=0, help="Limit of cost a day, in USD.")
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and show it once; it is not stored. From then on every request needs a key.

    This does not change when the last key is revoked; `fathom keys open` then lets everybody on
    this machine ask again.
    """
    from fathom.serving.cli.output import show_outcome
    from fathom.serving.http.keys import Key, compute_expiry

    key = Key(
        id="",
        name=name,
        workspace=workspace,
        scopes=frozenset(scope or ["read"]),  # type: ignore[arg-type]  # `add` checks them
        groups=frozenset(group or ()),
        expires=compute_expiry(days),
        per_minute=per_minute,
        tokens_per_day=tokens_per_day,
        usd_per_day=usd_per_day,
    )
    with _open_keys(index) as store:
        added, text = store.add(key)
    show_outcome(
        {**_serialize_key(added), "key": text},
        f"{text}\nnot stored: copy it now; `fathom keys revoke {added.id}` ends it",
        as_json=as_json,
    )


@keys.command("list")
def list_keys(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List all keys with their permissions and limits."""
    from fathom.serving.cli.output import show, show_json

    with _open_keys(index) as store:
        listed_keys, door = store.list_keys(), store.get_door()
    if as_json:
        show_json({"keys": [_serialize_key(key) for key in listed_keys], "door": door})
    else:
        no_keys = (
            f"no keys; {_CLOSED_HINT}"
            if door == "closed"
            else "no keys; on 127.0.0.1 nobody needs one"
        )
        show("\n".join(map(_format_key, listed_keys)) or no_keys)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id that `fathom keys list` shows.")
    ],
    index: IndexOption = None,
) -> None:
    """Revoke a key; its holder cannot use it any more."""
    from fathom.serving.cli.output import show

    with _open_keys(index) as store:
        if not store.revoke(key_id):
            raise UsageError(f"no key {key_id!r}; `fathom keys list` shows them")
        is_last = not store.has_keys()
    show(f"{key_id} revoked" + (f"; it was the last: {_CLOSED_HINT}" if is_last else ""))


@keys.command("open")
def open_server(index: IndexOption = None) -> None:
    """Let everybody on 127.0.0.1 ask without a key again, once no key is left."""
    from fathom.serving.cli.output import show

    with _open_keys(index) as store:
        store.open_door()
    show("on 127.0.0.1 nobody needs a key; `fathom keys add NAME` closes the server again")


@contextmanager
def _open_keys(index: str | None) -> "Iterator[Keys]":
    from fathom.serving.http.keys import create_key_store

    with build_engine(index, None) as engine:
        store = create_key_store(engine.index)
        try:
            yield store
        finally:
            store.close()


def _serialize_key(key: "Key") -> dict[str, object]:
    return {**asdict(key), "scopes": sorted(key.scopes), "groups": sorted(key.groups)}


def _format_key(key: "Key") -> str:
    limits = [
        f"until {key.expires}" if key.expires else "",
        f"{key.per_minute} requests a minute" if key.per_minute is not None else "",
        f"{key.tokens_per_day} tokens a day" if key.tokens_per_day is not None else "",
        f"{key.usd_per_day:g} USD a day" if key.usd_per_day is not None else "",
    ]
    where = f"workspace {key.workspace}" if key.workspace else "default workspace"
    groups = [f"group {name}" for name in sorted(key.groups)]
    parts = [f"{key.id}  {key.name}", where, *sorted(key.scopes), *groups, *filter(None, limits)]
    return ", ".join(parts)
