"""The demo: ingest the sample documents, ask them, see citations and an honest "I don't know"."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SHOWN = ("factoid", "procedure", "indonesian", "conflict", "unanswerable")


def fathom(*arguments: str) -> int:
    """Run the command line as a user would, and show the command."""
    shown = " ".join(f'"{each}"' if " " in each else each for each in arguments)
    print(f"\n$ fathom {shown}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "fathom.serving.cli", *arguments], check=False
    ).returncode


def chosen() -> list[str]:
    """One question of each kind."""
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    return [
        next(each["text"] for each in questions if each["metadata"].get("show") == kind)
        for kind in SHOWN
    ]


def main() -> int:
    """Ingest twice (the second time nothing is to do), ask, and list what is there."""
    with tempfile.TemporaryDirectory() as folder:
        index = ("--index", str(Path(folder) / "index"), "--offline")
        corpus = str(HERE / "corpus")
        codes = [fathom("ingest", corpus, *index), fathom("ingest", corpus, *index)]
        codes += [fathom("ask", question, *index) for question in chosen()]
        codes.append(fathom("status", *index[:2]))
    expected = [0, 0, 0, 0, 0, 0, 3, 0]
    print("\nThe last question has no answer in the documents: exit code 3 says so.")
    return 0 if codes == expected else 1


if __name__ == "__main__":
    sys.exit(main())
