"""The entry point of `python -m fathom.serving.cli`."""

from fathom.serving.cli import main

main()
