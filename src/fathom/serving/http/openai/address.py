"""Where the page is, as who asks can open it."""

from typing import Annotated

from fastapi import Depends, Request


async def page_url(request: Request) -> str:
    """The absolute address of the page, ending in a slash.

    What `serve.public_url` says, else the address at which this request came.
    """
    public: str = request.app.state.settings.serve.public_url
    return f"{public.rstrip('/')}/" if public else str(request.base_url)


PageUrl = Annotated[str, Depends(page_url)]
