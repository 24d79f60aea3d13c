"""Remake the tables and figures of the five papers: python -m experiments [ID ...].

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
from experiments.lab.clean import Published, faults, unchecked, without_manifest
from experiments.lab.headlines import write_headlines
from experiments.lab.pages import contents, page
from experiments.lab.plan import Experiment, found
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
    """Run, and write pages; gives the exit code."""
    options = _asked(arguments)
    try:
        experiments = found(ROOT / "experiments", options.ids)
        chosen = (
            [experiment.shortened() for experiment in experiments] if options.fast else experiments
        )
        if options.list:
            print("\n".join(f"{each.id:28}{each.where}: {each.title}" for each in chosen))
            return 0
        manifests = tuple(load_manifests(MANIFESTS, CHOSEN))
        if options.check:
            return _faults(
                _published(found(ROOT / "experiments"), options.out, manifests), options.out
            )
        _check(options)
        here = Provenance.here(ROOT)
        bench = Bench(
            data=options.data,
            work=options.work,
            indexes=options.indexes,
            commit=here.commits[0],
            manifests=manifests,
        )
        whole = True if options.pages else _run(bench, chosen, here, options.out)
        written = chosen if options.fast else found(ROOT / "experiments")
        _write(_published(written, options.out, manifests), options.out)
    except UsageError as error:
        return _told(error)
    return 0 if whole else UsageError.exit_code


def _check(options: argparse.Namespace) -> None:
    """Say once that there are no data at all, not for every experiment."""
    if not (options.fast or options.pages or options.data.is_dir()):
        raise UsageError(
            f"{options.data}: there are no data sets; set SHARED_DATA to the folder that holds "
            "them, or run `make reproduce-fast`, which needs none"
        )


def _run(bench: Bench, chosen: list[Experiment], here: Provenance, out: Path) -> bool:
    """Each experiment whose data sets are there; says whether all of them were."""
    whole = True
    for experiment in chosen:
        sys.stderr.write(f"== {experiment.id}: {experiment.title}\n")
        try:
            bench.check(experiment)
        except UsageError as error:
            whole = False
            _told(error)
            continue
        seen = bench.see(experiment)
        prints = {name: bench.prints(name) for name in seen.sets}
        Summary.of(seen, here).save(out)
        scores.save(out, experiment.id, tuple(scores.scored(seen, prints)))
    return whole


def _told(error: UsageError) -> int:
    sys.stderr.write(f"experiments: {error}\n")
    return error.exit_code


def _published(
    experiments: list[Experiment], out: Path, known: Sequence[Manifest]
) -> list[Published]:
    """All experiments that have a summary."""
    each = (Published.load(out, experiment, known) for experiment in experiments)
    return [published for published in each if published is not None]


def _faults(published: list[Published], out: Path) -> int:
    """Say what is wrong; gives the exit code."""
    wrong = [*without_manifest(MODELS, MANIFESTS), *faults(published, out, unchecked(UNCHECKED))]
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


def _write(published: list[Published], out: Path) -> None:
    """The pages."""
    out.mkdir(parents=True, exist_ok=True)
    for paper in dict.fromkeys(each.experiment.paper for each in published):
        own = [each for each in published if each.experiment.paper == paper]
        (out / f"{paper}.md").write_text(page(paper, own), encoding="utf-8")
    (out / "README.md").write_text(contents(published), encoding="utf-8")
    if out == PUBLISHED:
        write_headlines(ROOT / "README.md", {each.summary.id: each.summary for each in published})


def _asked(arguments: list[str] | None) -> argparse.Namespace:
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
