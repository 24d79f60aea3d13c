"""Runs the command line: python -m fathom.serving.cli."""

from fathom.serving.cli.app import main

main()
