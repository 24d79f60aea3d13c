"""The web application: puts routes, errors and the workspaces together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from fathom import __version__
from fathom.engine import Engine
from fathom.serving.http import api, documents, health, openai, page, problems, reports
from fathom.serving.http.access import Access
from fathom.serving.http.workspaces import Workspaces
from fathom.settings import Settings


def create_app(settings: Settings, access: Access | None = None) -> FastAPI:
    """The application over the index that the settings name.

    Args:
        settings: What the command line would use.
        access: Who may do what; by default the local user may do all.
    """
    app = FastAPI(
        title="Fathom",
        version=__version__,
        description="Answers from your own documents, with verified citations.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    engine = Engine(settings)
    app.state.settings = settings
    app.state.access = access or Access()
    app.state.workspaces = Workspaces(engine)
    app.state.stopping = asyncio.Event()
    problems.install(app)
    app.include_router(health.router)
    app.include_router(api.router)
    app.include_router(documents.router)
    app.include_router(reports.router)
    app.include_router(openai.router)
    app.include_router(page.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    engine = app.state.workspaces.of(app.state.access.caller("")).engine
    warming = asyncio.ensure_future(asyncio.to_thread(_warm, engine))
    try:
        yield
    finally:
        await warming
        app.state.workspaces.close()


def _warm(engine: Engine) -> None:
    """Load the models before the first question comes."""
    engine.assembly.warm_up()
