"""The entry point of `python -m fathom`."""

from fathom.serving.cli import main

main()
