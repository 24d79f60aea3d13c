"""The commands `fathom serve`, which serves the page and the API, and `fathom keys`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.errors import end_quietly
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    LlmOption,
    OfflineOption,
    PaperOption,
    SetOption,
    StrategyOption,
    build_engine,
)
from fathom.serving.http.sign_on_options import SignOnOptions

if TYPE_CHECKING:  # `--help` must not wait for these imports
    from fathom.serving.http.keys import Key, Keys
    from fathom.serving.http.sign_on import SignOn
    from fathom.serving.http.trusted_proxy import TrustedProxy
    from fathom.settings import Settings

_CLOSED_HINT = (
    "nobody can ask before `fathom keys add NAME` makes a key, or `fathom keys open` lets "
    "everybody on 127.0.0.1 ask without one"
)
_DEFAULTS = SignOnOptions()
keys = typer.Typer(help="Keys of the server: who may ask, and how much.", no_args_is_help=True)


def serve(
    index: IndexOption = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")
    ] = 8000,
    audit: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=36_500,
            metavar="DAYS",
            help="Log callers, questions and shown documents, and keep the log for so many days.",
        ),
    ] = None,
    proxy_user_header: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The header in which a reverse proxy names the signed-on user."
        ),
    ] = "",
    proxy_groups_header: Annotated[
        str, typer.Option(metavar="NAME", help="The header with the groups of that user.")
    ] = "",
    proxy_secret: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The secret that the proxy sends with these headers."),
    ] = None,
    proxy_address: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IP", help="The proxy's address; by default this machine; may be repeated."
        ),
    ] = None,
    oidc: Annotated[
        str,
        typer.Option(
            metavar="ISSUER", help="The address of an OpenID Connect issuer that signs users on."
        ),
    ] = "",
    oidc_scopes: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="The scopes to request, such as 'profile groups'; by default openid, profile, "
            "email, and offline_access if the issuer names it.",
        ),
    ] = "",
    oidc_user: Annotated[
        str, typer.Option(metavar="CLAIM", help="The claim with the name of the user.")
    ] = _DEFAULTS.user_claim,
    oidc_groups: Annotated[
        str, typer.Option(metavar="CLAIM", help="The claim with the groups of the user.")
    ] = _DEFAULTS.groups_claim,
    oidc_roles: Annotated[
        str,
        typer.Option(
            metavar="CLAIM", help="The claim with the roles: reader, editor, admin; one is needed."
        ),
    ] = _DEFAULTS.roles_claim,
    oidc_hours: Annotated[
        float, typer.Option(min=0.01, max=24, metavar="HOURS", help="Hours until a session ends.")
    ] = _DEFAULTS.hours,
    strategy: StrategyOption = None,
    paper: PaperOption = None,
    llm: LlmOption = None,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> None:
    """Serve the web page, the API and the OpenAI-compatible interface until Ctrl-C."""
    try:
        from fathom.serving.http.server import run
    except ModuleNotFoundError as error:
        raise UsageError(
            f"fathom serve needs {error.name}: pip install 'fathom-qa[serve]'"
        ) from None
    proxy = _build_proxy(proxy_user_header, proxy_groups_header, proxy_secret, proxy_address or ())
    options = SignOnOptions(
        scopes=tuple(oidc_scopes.replace(",", " ").split()),
        user_claim=oidc_user,
        groups_claim=oidc_groups,
        roles_claim=oidc_roles,
        hours=oidc_hours,
    )
    if oidc and proxy:
        raise UsageError("--oidc and --proxy-user-header exclude each other; choose one sign-on")
    if not oidc and options != _DEFAULTS:
        raise UsageError("--oidc is missing: it names the issuer that signs users on")
    flags = {"ask.strategy": strategy, "ask.paper": paper, "llm.model": llm}
    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        # This engine only loads and checks the settings; the server opens its own engines.
        settings = engine.settings
    sign_on = _open_sign_on(oidc, options, host, settings) if oidc else proxy

    def announce(address: str) -> None:
        sys.stderr.write(f"fathom: open {address} (Ctrl-C ends it)\n")
        sys.stderr.flush()

    with end_quietly():
        run(
            settings,
            host=host,
            port=port,
            audit_days=audit,
            sign_on=sign_on,
            on_open=announce,
        )


def _build_proxy(
    user_header: str, groups_header: str, secret: Path | None, addresses: Sequence[str]
) -> "TrustedProxy | None":
    """Build the proxy that signs users on; return `None` if no option names one."""
    from fathom.serving.http.trusted_proxy import build_proxy

    if user_header:
        return build_proxy(user_header, groups_header, secret, addresses)
    if groups_header or secret or addresses:
        raise UsageError("--proxy-user-header is missing: it names the user of a request")
    return None


def _open_sign_on(issuer: str, options: SignOnOptions, host: str, settings: "Settings") -> "SignOn":
    """Open the sign-on, and check that the issuer answers, without which nobody could sign on."""
    import asyncio  # takes a tenth of the time in which any command starts

    try:
        from fathom.serving.http.openid import build_issuer
        from fathom.serving.http.sign_on import SignOn, check_public_url
        from fathom.serving.http.sign_on_plan import SignOnPlan
    except ModuleNotFoundError as error:
        raise UsageError(f"--oidc needs {error.name}: pip install 'fathom-qa[oidc]'") from None
    if settings.offline:
        raise UsageError("--oidc needs a socket and --offline allows none; drop one of the two")
    check_public_url(settings.serve.public_url, host)
    sign_on = SignOn(
        build_issuer(issuer),
        plan=SignOnPlan(**asdict(options)),
        public_url=settings.serve.public_url,
    )
    addresses = asyncio.run(sign_on.issuer.fetch_addresses())
    if not addresses.may_renew:
        sys.stderr.write(
            f"fathom: {issuer} cannot be asked again for groups: those of a user count until the "
            f"session ends, after {options.hours:g} hours; `--oidc-hours` shortens that\n"
        )
    return sign_on


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
