"""The web application: its routes, middleware and workspaces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from typing_extensions import override

from fathom import __version__
from fathom.engine import Engine
from fathom.serving.http import (
    api,
    audit_routes,
    conversation_routes,
    document_routes,
    error_replies,
    health,
    mcp,
    openai,
    page,
    problems,
    report_routes,
    sign_on_routes,
    source_routes,
)
from fathom.serving.http.access import Access
from fathom.serving.http.admission import Admission
from fathom.serving.http.audit_log import create_audit_log
from fathom.serving.http.audit_trail import AuditTrail
from fathom.serving.http.description import describe_fields, name_operation
from fathom.serving.http.event_stream import Shutdown
from fathom.serving.http.fetch import MOST_AT_ONCE
from fathom.serving.http.folder_watch import FolderWatch
from fathom.serving.http.guard import Guard
from fathom.serving.http.head_requests import HeadRequests
from fathom.serving.http.keys import create_key_store
from fathom.serving.http.metrics import Metrics, RequestCounter
from fathom.serving.http.object_store import create_object_store
from fathom.serving.http.question_runner import QuestionRunner
from fathom.serving.http.readiness import Readiness
from fathom.serving.http.redacted_replies import RedactedReplies
from fathom.serving.http.reply_schemas import (
    ERROR_SCHEMAS,
    OpenAIErrorReply,
    ProblemReply,
    describe_errors,
)
from fathom.serving.http.sessions import Sessions
from fathom.serving.http.source_schedule import SourceSchedule
from fathom.serving.http.trusted_proxy import TrustedProxy
from fathom.serving.http.workspaces import Workspaces
from fathom.settings import Settings
from fathom.usage import Budget

if TYPE_CHECKING:  # needs the extra `oidc`
    from fathom.serving.http.sign_on import SignOn


class Application(FastAPI):
    """The web application, whose OpenAPI description also describes errors and all fields."""

    @override
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description."""
        description = super().openapi()
        schemas = description["components"]["schemas"]
        schemas.update(ERROR_SCHEMAS)
        describe_fields(schemas)
        return description


def create_app(
    settings: Settings,
    access: Access | None = None,
    *,
    audit_days: float | None = None,
    sign_on: "TrustedProxy | SignOn | None" = None,
) -> FastAPI:
    """Create the application over the index that the settings name.

    Args:
        settings: The settings, as the command line would use them.
        access: The access control; by default that of the keys beside the index. While there is no
            key, everybody who reaches the server may do everything.
        audit_days: The days for which the audit log stores lines; `None` to write none.
        sign_on: The reverse proxy or the issuer that signs users on, if there is one. Everybody
            else then needs a key, since requests of anybody through a proxy appear to come from
            this machine.
    """
    serve = settings.serve
    admission = Admission(running=serve.running, waiting=serve.waiting, patience_s=serve.patience_s)
    access = access or build_access(settings, required=sign_on is not None)
    metrics = Metrics(admission)
    engine = Engine(settings)
    audit_log = create_audit_log(engine.index, audit_days)
    # Inside of the guard, so that a refusal has the guard's headers too.
    trail = [] if audit_days is None else [Middleware(AuditTrail, log=audit_log)]
    app = Application(
        title="Fathom",
        version=__version__,
        description="Answers from your own documents, with verified citations.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        middleware=[
            Middleware(RedactedReplies),
            Middleware(RequestCounter, metrics=metrics),
            Middleware(Guard, access=access, admission=admission, settings=serve),
            Middleware(HeadRequests),
            *trail,
            Middleware(error_replies.BugReplies),
        ],
    )
    app.state.settings = settings
    app.state.access = access
    is_proxy = isinstance(sign_on, TrustedProxy)
    app.state.proxy, app.state.sign_on = (sign_on, None) if is_proxy else (None, sign_on)
    app.state.sessions = Sessions(create_object_store(engine.index), access)
    app.state.metrics = metrics
    app.state.readiness = Readiness(engine)
    app.state.workspaces = Workspaces(engine)
    app.state.schedule = SourceSchedule(app.state.workspaces, access.keys.list_workspaces)
    app.state.folder_watch = FolderWatch(
        app.state.workspaces, access.keys.list_workspaces, app.state.schedule.request
    )
    app.state.audit_log = audit_log
    # Fetches wait for other servers, so they must not take the turns of questions.
    app.state.fetching = Admission(
        running=MOST_AT_ONCE, waiting=serve.waiting, patience_s=serve.patience_s
    )
    app.state.asking = QuestionRunner(admission, access, metrics)
    app.state.stopping = Shutdown(serve.drain_s)
    error_replies.install_handlers(app)
    app.router.routes.extend(_list_routes())
    mcp.install_tools(app)
    return app


@cache
def _list_routes() -> tuple[BaseRoute, ...]:
    """Return the routes of every application.

    They are made once in a process, because that takes half a second. A route reads what belongs to
    one application from the state of that application.
    """
    router = APIRouter()
    for module in (
        *(health, api, conversation_routes, document_routes, report_routes, audit_routes),
        *(source_routes, sign_on_routes, page),
    ):
        router.include_router(
            module.router,
            responses=describe_errors(ProblemReply, problems.MEDIA_TYPE),
            generate_unique_id_function=name_operation,
        )
    router.include_router(
        openai.router,
        responses=describe_errors(OpenAIErrorReply, "application/json"),
        generate_unique_id_function=name_operation,
    )
    return tuple(router.routes)


def build_access(settings: Settings, *, required: bool) -> Access:
    """Build the access control from the keys beside the index that the settings name."""
    serve = settings.serve
    budget = Budget(tokens=serve.tokens_per_day, cost_usd=serve.usd_per_day)
    keys = create_key_store(Engine(settings).index)
    return Access(keys, required=required, workspace_budget=budget)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    spaces: Workspaces = app.state.workspaces
    await asyncio.to_thread(spaces.resume, app.state.access.keys.list_workspaces)
    app.state.schedule.start()
    app.state.folder_watch.start()
    # Models load before the first question comes, and in a thread, so that /readyz answers already.
    warm_up = asyncio.ensure_future(asyncio.to_thread(app.state.readiness.load_models))
    try:
        async with app.state.tools.serve():
            yield
    finally:
        await asyncio.gather(warm_up, return_exceptions=True)
        await asyncio.to_thread(app.state.folder_watch.close)
        await asyncio.to_thread(app.state.schedule.close)
        await asyncio.to_thread(spaces.close)
        app.state.access.close()
        app.state.audit_log.close()
        app.state.sessions.close()
