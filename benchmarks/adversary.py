"""Whole runs against a hostile server: the number of runs that overran their budget.

    python benchmarks/adversary.py --runs 0:10000 [--json FILE]

Each run is made from its number (`tests/adversary.py`), so a range can be played in pieces and a
failure again. A run that breaks a promise (tokens, calls, money, retrievals, tasks, threads or
sockets left behind, an unverified quote, an error nobody foresaw, a replay that differs) is
printed; overruns of deadlines are measured from the call of `aask` to its end.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.adversary import PANEL, PRICES, PlayedRun, play_scenario
from tests.factories import index_fees, list_open_sockets
from tests.scripted_server import serve

from fathom.registry import STRATEGIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", default="0:1000", help="from:to")
    parser.add_argument("--replay", type=int, default=5, help="replay every so many-th run")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    first, last = (int(part) for part in arguments.runs.split(":"))
    STRATEGIES["panel"] = PANEL  # type: ignore[index]
    played: list[PlayedRun] = []
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as place, serve() as server:
        folder = index_fees(Path(place))
        (folder / "prices.toml").write_text(PRICES)
        play_scenario(first, folder, server)
        sockets = list_open_sockets()
        for number in range(first, last):
            try:
                played.append(
                    play_scenario(number, folder, server, replay=number % arguments.replay == 0)
                )
            except AssertionError as error:
                broken.append(f"{number}: {error}")
                print(broken[-1], file=sys.stderr, flush=True)
            if number % 100 == 99:
                report(
                    first,
                    number + 1,
                    played,
                    broken,
                    len(list_open_sockets() - sockets),
                    arguments.json,
                )
        report(first, last, played, broken, len(list_open_sockets() - sockets), arguments.json)


def report(
    first: int,
    last: int,
    played: list[PlayedRun],
    broken: list[str],
    sockets: int,
    file: Path | None,
) -> None:
    timed = [run.overrun_s for run in played if run.answer.budget.seconds is not None]
    late = np.array(timed or [0.0]) * 1_000
    figures = {
        "runs": f"{first}:{last}",
        "played": len(played) + len(broken),
        "broken": broken,
        "sockets_left": sockets,
        "calls": sum(run.calls for run in played),
        "ends": Counter(f"{p.answer.status} {p.answer.stop_reason}"[:40] for p in played),
        "strategies": Counter(run.answer.strategy for run in played),
        "with_deadline": len(timed),
        "overrun_ms": {
            "p50": round(float(np.percentile(late, 50)), 1),
            "p99": round(float(np.percentile(late, 99)), 1),
            "max": round(float(late.max()), 1),
            "above_100": int((late > 100).sum()),
        },
    }
    print(json.dumps(figures), flush=True)
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
