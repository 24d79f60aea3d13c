"""The HTTP interface: the native API, the OpenAI-compatible one, and the page."""

from fathom.serving.http.app import create_app

__all__ = ["create_app"]
