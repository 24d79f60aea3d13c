"""Rebuild the tables and figures of the five papers: python -m experiments [ID ...].

Without an ID all of them. What was asked before is not asked again: a run that was killed goes on.
SHARED_DATA (default ../shared/data) holds the data sets; --fast asks the project's own samples
only. Records hold texts of the data sets: keep --work out of the repository. --check says what is
wrong with what is published, above all which rows were learned from or chosen on; it needs no data.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.lab import scores
from experiments.lab.bench import ROOT, Bench
from experiments.lab.clean import (
    Published,
    find_faults,
    find_models_without_manifest,
    read_unchecked,
)
from experiments.lab.headlines import write_headlines
from experiments.lab.outcome import find_unknown_figures
from experiments.lab.pages import format_contents, format_page
from experiments.lab.plan import Experiment, find_experiments
from experiments.lab.provenance import Provenance
from experiments.lab.summary import Summary
from research.contamination import Manifest, load_manifests

from fathom.errors import UsageError

PUBLISHED = ROOT / "docs" / "results"
UNCHECKED = ROOT / "experiments" / "unchecked.toml"
MANIFESTS = ROOT / "training" / "manifests"
CHOSEN = ROOT / "training" / "chosen.toml"
MODELS = ROOT / "src" / "fathom" / "models" / "resources"


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments and write their pages; return the exit code."""
    options = _parse_arguments(arguments)
    try:
        experiments = find_experiments(ROOT / "experiments", options.ids)
        chosen = (
            [experiment.shorten() for experiment in experiments] if options.fast else experiments
        )
        if options.list:
            print(
                "\n".join(
                    f"{experiment.id:28}{experiment.where}: {experiment.title}"
                    for experiment in chosen
                )
            )
            return 0
        manifests = tuple(load_manifests(MANIFESTS, CHOSEN))
        if options.check:
            return _report_faults(
                _load_published(find_experiments(ROOT / "experiments"), options.out, manifests),
                options.out,
            )
        _check_data(options)
        provenance = Provenance.from_process(ROOT)
        bench = Bench(
            data=options.data,
            work=options.work,
            indexes=options.indexes,
            commit=provenance.commits[0],
            manifests=manifests,
        )
        whole = True if options.pages else _run_experiments(bench, chosen, provenance, options.out)
        written = chosen if options.fast else find_experiments(ROOT / "experiments")
        _write_pages(_load_published(written, options.out, manifests), options.out)
    except UsageError as error:
        return _report_error(error)
    return 0 if whole else UsageError.exit_code


def _check_data(options: argparse.Namespace) -> None:
    """Report once that there are no data at all, instead of once per experiment."""
    if not (options.fast or options.pages or options.data.is_dir()):
        raise UsageError(
            f"{options.data}: there are no data sets; set SHARED_DATA to the folder that holds "
            "them, or run `make reproduce-fast`, which needs none"
        )


def _run_experiments(
    bench: Bench, chosen: list[Experiment], provenance: Provenance, out: Path
) -> bool:
    """Run each experiment whose data sets exist; return whether all of them did."""
    whole = True
    for experiment in chosen:
        sys.stderr.write(f"== {experiment.id}: {experiment.title}\n")
        try:
            bench.check(experiment)
        except UsageError as error:
            whole = False
            _report_error(error)
            continue
        # Most machines have no such model, and all else can be made anew without it.
        if reason := bench.find_missing_model(experiment):
            sys.stderr.write(f"experiments: skipped: {reason}\n")
            continue
        results = bench.collect_results(experiment)
        prints = {name: bench.read_prints(name) for name in results.sets}
        Summary.of(results, provenance).save(out)
        scores.save_scores(out, experiment.id, tuple(scores.score_experiment(results, prints)))
    return whole


def _report_error(error: UsageError) -> int:
    sys.stderr.write(f"experiments: {error}\n")
    return error.exit_code


def _load_published(
    experiments: list[Experiment], out: Path, manifests: Sequence[Manifest]
) -> list[Published]:
    """Load all experiments that have a summary."""
    loaded = (Published.load(out, experiment, manifests) for experiment in experiments)
    return [published for published in loaded if published is not None]


def _report_faults(published: list[Published], out: Path) -> int:
    """Report the faults of published results; return the exit code."""
    wrong = [
        *find_models_without_manifest(MODELS, MANIFESTS),
        *find_faults(
            published, out, read_unchecked(UNCHECKED), read_unchecked(UNCHECKED, "undated")
        ),
        *(fault for entry in published for fault in find_unknown_figures(entry)),
    ]
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


def _write_pages(published: list[Published], out: Path) -> None:
    """Write the pages."""
    out.mkdir(parents=True, exist_ok=True)
    for paper in dict.fromkeys(entry.experiment.paper for entry in published):
        of_paper = [entry for entry in published if entry.experiment.paper == paper]
        (out / f"{paper}.md").write_text(format_page(paper, of_paper), encoding="utf-8")
    (out / "README.md").write_text(format_contents(published), encoding="utf-8")
    if out == PUBLISHED:
        write_headlines(
            ROOT / "README.md", {entry.summary.id: entry.summary for entry in published}
        )


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="PAPER or PAPER/NAME; default all")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--fast", action="store_true", help="on the project's own samples")
    parser.add_argument("--pages", action="store_true", help="only write the pages anew")
    parser.add_argument("--check", action="store_true", help="whether what is published is clean")
    parser.add_argument("--work", type=Path, help="indexes and records; default .work")
    parser.add_argument("--indexes", type=Path, help="default: below --work")
    parser.add_argument("--out", type=Path, help="summaries and pages; default docs/results")
    options = parser.parse_args(arguments)
    options.data = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
    options.work = options.work or ROOT / ".work" / ("fast" if options.fast else "full")
    options.out = options.out or (options.work / "results" if options.fast else PUBLISHED)
    return options


if __name__ == "__main__":
    sys.exit(main())
