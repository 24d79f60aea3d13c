"""Makes training questions over real files with a language model; README.md says how.

python -m training.questions passages --packages DIR --data DATA --out RUN
python -m training.questions ask --out RUN --endpoint http://127.0.0.1:8900/v1/chat/completions
python -m training.questions judge --out RUN
"""

import argparse
import math
from contextlib import closing
from pathlib import Path

from training.questions.ask import Endpoint, ask_passages
from training.questions.rows import write_rows

_REPLIES = "raw.jsonl.gz"
_MANUALS = Path(__file__).parents[2] / "manuals" / "documents"
# Sets that figures are published on, whole: no text that shares a run of words is asked about.
_REPORTED = (
    *("2wiki-fresh", "squad-fresh", "idk-mrc-retrieval", "facqa-id", "hotpotqa-200", "musique-300"),
    *("multihoprag-partial", "covid-qa", "ramdocs", "techqa-130", "sec-10-q", "crag-sample"),
    *("k8s-docs", "powershell-howto", "tldr-commands", "indonesian-regulations"),
)


def main() -> None:
    """Read the arguments and take one step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    cut = steps.add_parser("passages", help="cut files into passages")
    cut.add_argument("--packages", type=Path, required=True, help="unpacked Debian packages")
    cut.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    ask = steps.add_parser("ask", help="ask a model about every passage, and write the rows")
    ask.add_argument("--endpoint", required=True, help="address of OpenAI's chat protocol")
    ask.add_argument("--model", default="", help="its name there")
    ask.add_argument("--open", type=int, default=512, help="requests at a time")
    ask.add_argument("--seconds", type=float, default=math.inf, help="at most")
    ask.add_argument("--most", type=int, default=10**9, help="passages at most")
    judge = steps.add_parser("judge", help="write the rows again from the model's replies")
    for step in (cut, ask, judge):
        step.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.step == "passages":
        _cut(options.packages, options.data, options.out)
        return
    if options.step == "ask":
        with closing(Endpoint(options.endpoint, options.model, options.seconds)) as endpoint:
            ask_passages(
                options.out / "passages.jsonl.gz",
                options.out / _REPLIES,
                endpoint,
                open_requests=options.open,
                most=options.most,
            )
    print(write_rows(options.out / "passages.jsonl.gz", options.out / _REPLIES, options.out))


def _cut(packages: Path, data: Path, out: Path) -> None:
    # Asking needs the standard library alone, on a machine that may have nothing else.
    from training.questions import passages

    passages.make_passages(packages, data, [_MANUALS, *(data / name for name in _REPORTED)], out)


if __name__ == "__main__":
    main()
