"""The address at which a client can open the page."""

from typing import Annotated

from fastapi import Depends, Request


async def get_page_url(request: Request) -> str:
    """Return the absolute address of the page, ending in a slash.

    It is `serve.public_url`, or else the address that the request used.
    """
    public: str = request.app.state.settings.serve.public_url
    return f"{public.rstrip('/')}/" if public else str(request.base_url)


PageUrl = Annotated[str, Depends(get_page_url)]
