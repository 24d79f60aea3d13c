"""The demo: ingest the sample documents, ask them, see citations and an honest "I don't know"."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE.parent / ".work" / "demo"
"""The index of the demo, for the page."""
SHOWN = ("factoid", "procedure", "indonesian", "conflict", "unanswerable")
NOTHING = "I don't know"
BOTH = "The documents give different answers:"

Question = Mapping[str, Any]


def fathom(*arguments: str) -> str:
    """Run the command line as a user would; show the command and what it prints, and give that."""
    shown = " ".join(f'"{each}"' if " " in each else each for each in arguments)
    print(f"\n$ fathom {shown}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "fathom", *arguments],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    print(done.stdout, end="", flush=True)
    return done.stdout


def chosen() -> list[Question]:
    """One question of each kind."""
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    return [
        next(each for each in questions if each["metadata"].get("show") == kind) for kind in SHOWN
    ]


def faults(question: Question, shown: str) -> list[str]:
    """What is wrong with the answer that was shown."""
    said, _, _ = shown.partition("\n  confidence")
    if not question["answers"]:
        return [] if said.startswith(NOTHING) else [f"{question['text']} has no answer: {said!r}"]
    documents = len(question["metadata"]["relevant"])
    wanted = [*question["answers"], *([BOTH] if documents > 1 else [])]
    found = [fault for words in wanted for fault in unlike(words, said)]
    cited = len(re.findall(r"^  \[\d+\] ", said, re.MULTILINE))
    return found + ([f"{cited} of {documents} documents are cited"] if cited < documents else [])


def unlike(wanted: str, shown: str) -> list[str]:
    """What is wrong with an output that should hold these words."""
    return [] if holds(shown, wanted) else [f"{wanted!r} is not told in {shown!r}"]


def holds(text: str, words: str) -> bool:
    """Whether the text holds these words, and not as a part of longer ones or numbers."""
    return bool(re.search(rf"(?<![\w.]){re.escape(words)}(?!\w)", text))


def opening() -> str:
    """How to go on with the same documents on the page."""
    command = Path(sys.executable).parent / "fathom"
    near = Path(os.path.relpath(command)), Path(os.path.relpath(KEPT))
    return (
        "\nOpen the page and ask these documents yourself:\n\n"
        f"  {near[0]} serve --index {near[1]}\n\nthen look at http://127.0.0.1:8000/"
    )


def main() -> int:
    """Ingest twice (the second time nothing is to do), ask, and list what is there."""
    files = len(list((HERE / "corpus").iterdir()))
    shutil.rmtree(KEPT, ignore_errors=True)
    index = ("--index", str(KEPT), "--offline")
    ingest = ("ingest", str(HERE / "corpus"), *index)
    found = [*unlike(f"{files} new", fathom(*ingest))]
    found += unlike(f"{files} unchanged", fathom(*ingest))
    for question in chosen():
        found += faults(question, fathom("ask", question["text"], *index))
    found += unlike(f"{files} documents", fathom("status", *index[:2]))
    print("\nThe last question has no answer in the documents, and is not given one.")
    print(opening())
    for each in found:
        print(f"demo: {each}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
