"""The command line, with one file for each group of commands."""

from fathom.serving.cli.app import app, main

__all__ = ["app", "main"]
