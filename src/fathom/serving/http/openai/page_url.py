"""The address of the page, as a client can open it."""

from typing import Annotated

from fastapi import Depends, Request


async def get_page_url(request: Request) -> str:
    """Return the absolute address of the page, ending in a slash.

    `serve.public_url` counts, else the address that this request used.
    """
    public: str = request.app.state.settings.serve.public_url
    return f"{public.rstrip('/')}/" if public else str(request.base_url)


PageUrl = Annotated[str, Depends(get_page_url)]
