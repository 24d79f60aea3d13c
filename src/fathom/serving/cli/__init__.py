"""The command line, with one file for each group of commands."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    # Imported inside, so that Ctrl-C during the imports also ends with one line.
    try:
        from fathom.serving.cli.app import main as run
    except KeyboardInterrupt as interrupt:
        from fathom.serving.cli.errors import report_error

        sys.exit(report_error(interrupt, as_json="--json" in sys.argv[1:]))
    run()


__all__ = ["main"]
