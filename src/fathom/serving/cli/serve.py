"""The command `fathom serve`, which serves the page and the API."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.errors import end_quietly
from fathom.serving.cli.options import (
    IndexOption,
    LlmOption,
    OfflineOption,
    PaperOption,
    SetOption,
    StrategyOption,
    build_engine,
)
from fathom.serving.http.sign_on_options import SignOnOptions

if TYPE_CHECKING:  # `--help` must not wait for these imports
    from fathom.serving.http.sign_on import SignOn
    from fathom.serving.http.trusted_proxy import TrustedProxy
    from fathom.settings import Settings

_DEFAULTS = SignOnOptions()


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
