"""The command line, which only parses arguments and prints."""

import atexit
import gc
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from fathom import __version__
from fathom.errors import FathomError, Interrupted
from fathom.registry import PAPERS
from fathom.serving.cli import documents, questions, traces, training
from fathom.serving.cli.ask import ask
from fathom.serving.cli.audit import audit
from fathom.serving.cli.calibration import calibrate, feedback
from fathom.serving.cli.docs import docs
from fathom.serving.cli.errors import prepare_streams, report_error
from fathom.serving.cli.evaluate import evaluate
from fathom.serving.cli.keys import keys
from fathom.serving.cli.mcp import mcp
from fathom.serving.cli.models import models
from fathom.serving.cli.options import (
    IndexOption,
    JsonOption,
    OfflineOption,
    SetOption,
    build_engine,
)
from fathom.serving.cli.search import search
from fathom.serving.cli.serve import serve
from fathom.serving.cli.skill import skill
from fathom.serving.cli.source import source
from fathom.serving.cli.tune import tune

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine

GARBAGE_AFTER = 50_000
"""The number of new objects that starts a garbage collection.

With Python's default of 700, collections during the imports take a tenth of the start-up time."""

app = typer.Typer(
    name="fathom",
    help='Ask your own documents: cited answers, or an honest "I don\'t know".',
    no_args_is_help=True,
    # No frames: importing the library that draws them takes half the time of `--help`.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    gc.set_threshold(GARBAGE_AFTER)
    # The end of the process frees all memory, so that a last look for garbage gains nothing.
    atexit.register(gc.freeze)
    prepare_streams()
    as_json = "--json" in sys.argv[1:]
    try:
        code = _build_command()(prog_name="fathom", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nothing above reports errors
        sys.exit(report_error(error, as_json=as_json))
    if code == Interrupted.exit_code:  # Typer turns Ctrl-C into this code, without a message
        sys.exit(report_error(KeyboardInterrupt(), as_json=as_json))
    sys.exit(code if isinstance(code, int) else 0)


@cache
def _build_command() -> Callable[..., object]:
    """Build the command line once in a process, because that takes as long as a short command."""
    return typer.main.get_command(app)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Define the options of the whole command line."""


@app.command()
def ingest(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files, folders or BEIR folders; by default all known ones."),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    prune: Annotated[bool, typer.Option(help="Also remove documents whose file is gone.")] = False,
    rebuild: Annotated[
        bool, typer.Option(help="Build a new index; the old one serves until it is complete.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --rebuild: allow losing documents outside PATHS.")
    ] = False,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Only files that match, such as '*.md'; may be repeated."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Leave out files and folders that match; may be repeated."
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="N|ray|ray://HOST:PORT", help="Processes that read and embed files."),
    ] = None,
    wait_vectors: Annotated[
        bool,
        typer.Option(
            "--wait-vectors", help="Make documents searchable only once they have vectors."
        ),
    ] = False,
    readers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML rules on who may read which documents; the index keeps them."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the status of each file here, as JSON.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print a line on stderr for each stored file.")
    ] = False,
    paper: Annotated[
        str | None,
        typer.Option(help=f"Cut and embed documents as a paper does: {', '.join(PAPERS)}."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--watch", help="Ingest again after every change, until Ctrl-C.")
    ] = False,
    assignments: SetOption = None,
    offline: OfflineOption = False,
) -> int:
    """Bring the index in line with files; run it again to continue or to update."""
    from dataclasses import asdict

    from fathom.serving.cli.files import check_report
    from fathom.serving.cli.output import format_ingest_report, show_outcome
    from fathom.serving.cli.progress import InterruptibleProgress, show_ingest_progress
    from fathom.serving.cli.watch import watch
    from fathom.serving.notifications import choose_wait
    from fathom.serving.readers_file import load_readers

    if report is not None:
        check_report(report, [*(paths or ()), *([readers] if readers else ())])
    flags = {
        "ingest.include": include or None,
        "ingest.exclude": exclude or None,
        "ingest.workers": workers,
        "ingest.wait_vectors": wait_vectors or None,
        "ask.paper": paper,
    }
    failure_counts: list[int] = []

    def ingest_once(engine: "Engine") -> None:
        # With --watch only the first round rebuilds; later rounds update the new index.
        anew = rebuild and not failure_counts
        unused = set() if readers else _list_unused_patterns(engine)
        with (
            show_ingest_progress(verbose=verbose) as on_progress,
            InterruptibleProgress(on_progress, anew=anew) as progress,
        ):
            outcome = engine.ingest(
                paths or (),
                prune=prune,
                rebuild=anew,
                lose=yes,
                rights=load_readers(readers) if readers else None,
                on_progress=progress,
            )
        failure_counts.append(outcome.failed)
        place = f"--readers {readers}: " if readers else "rights: "
        for pattern in sorted(_list_unused_patterns(engine) - unused):
            sys.stderr.write(f"fathom: {place}no document matches {pattern}\n")
        if report is not None:
            text = json.dumps(asdict(outcome), ensure_ascii=False, indent=1)
            report.write_text(f"{text}\n", encoding="utf-8")
        show_outcome(outcome, format_ingest_report(outcome), as_json=as_json)
        sys.stdout.flush()

    with build_engine(index, assignments, offline=offline, flags=flags) as engine:
        if follow:
            watch(
                lambda: engine.documents.take_fingerprint(paths or ()),
                lambda: ingest_once(engine),
                wait=choose_wait(lambda: engine.documents.iterate_folders(paths or ())),
            )
        else:
            ingest_once(engine)
    # With --watch the last round counts: a file that failed before may be repaired since.
    return 6 if failure_counts[-1] else 0


def _list_unused_patterns(engine: "Engine") -> set[str]:
    """Return the patterns of the rules of rights that match no document; none without an index."""
    # The ingestion itself tells why an index cannot be read, and a rebuild replaces it.
    with suppress(FathomError):
        return {rule.pattern for rule in engine.documents.list_unused_rules()}
    return set()


# The help has this order, in which the commands that everybody needs come first.
app.command()(ask)
app.command()(search)
app.command()(documents.status)
app.command()(traces.trace)
app.command()(traces.replay)
app.command()(feedback)
app.command()(serve)
app.command()(audit)
app.command()(mcp)
app.command()(skill)
app.command()(calibrate)
app.command("eval")(evaluate)
app.command()(tune)
app.command()(documents.doctor)
app.command()(documents.copy)
app.command()(documents.backup)
app.add_typer(docs, name="docs")
app.add_typer(source, name="source")
app.add_typer(documents.config, name="config")
app.add_typer(documents.vectors, name="vectors")
app.add_typer(models, name="models")
app.add_typer(questions.questions, name="questions")
app.add_typer(training.train, name="train")
app.add_typer(keys, name="keys")

if __name__ == "__main__":
    main()
