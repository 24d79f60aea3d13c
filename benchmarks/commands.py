"""The time of commands, as an agent and a newcomer meet them.

    python -m benchmarks.commands many [--index DIR] [--questions FILE...] [--number 200]
    python -m benchmarks.commands minute WHEEL [--folder FOLDER]

`many` asks questions by one `fathom ask -` and by a call of `fathom ask` for each, and prints the
seconds of both, their ratio, and how many answers are the same. Without --index the samples are
ingested first; without --questions, those of the samples and of the manuals are asked.

`minute` installs a wheel in a new environment and asks about a folder that has no index. It prints
the seconds of the installation, from the start of the command to its answer, and from there to its
end, when every chunk has a vector. Without --folder it copies 200 files of this repository: the
samples, manuals, pages of documentation, and code.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FATHOM = Path(sys.executable).with_name("fathom")
SAMPLES = ROOT / "samples"
QUESTIONS = [SAMPLES / "questions.jsonl", ROOT / "manuals" / "questions.jsonl"]
FILES = 200
QUESTION = "How much does a skip cost a week?"
MIXED = ("samples/corpus/*", "manuals/documents/*", "docs/*.md", "src/fathom/**/*.py")


def read_questions(files: Sequence[Path], number: int) -> list[str]:
    """Return the first questions of files of JSON lines."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [json.loads(line)["text"] for line in islice(lines, number)]


def ask_by_lines(questions: Sequence[str], options: Sequence[str]) -> list[Any]:
    """Return the answers of one command that reads the questions from stdin."""
    command = [FATHOM, "ask", "-", *options]
    text = "".join(f"{question}\n" for question in questions)
    # Its exit code tells that some question has no answer.
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def ask_by_calls(questions: Sequence[str], options: Sequence[str]) -> list[Any]:
    """Return the answers of a command for each question."""
    commands = ([FATHOM, "ask", question, *options, "--json"] for question in questions)
    return [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        for command in commands
    ]


def compare_calls(index: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Return the figures of `many`."""
    options = ["--brief", "--offline", "--index", str(index)]
    begun = time.perf_counter()
    lines = ask_by_lines(questions, options)
    middle = time.perf_counter()
    calls = ask_by_calls(questions, options)
    ended = time.perf_counter()
    return {
        "questions": len(questions),
        "lines_s": round(middle - begun, 1),
        "calls_s": round(ended - middle, 1),
        "ratio": round((middle - begun) / (ended - middle), 3),
        "same_answers": sum(line == call for line, call in zip(lines, calls, strict=True)),
    }


def list_mixed_files() -> Iterator[Path]:
    """Yield files of the repository, those of the samples first."""
    for pattern in MIXED:
        yield from sorted(path for path in ROOT.glob(pattern) if path.is_file())


def copy_mixed_files(folder: Path) -> None:
    """Copy `FILES` files of the repository into a folder."""
    folder.mkdir()
    for number, file in enumerate(islice(list_mixed_files(), FILES)):
        shutil.copy(file, folder / f"{number:03}-{file.name}")


def measure_minute(wheel: Path, folder: Path, place: Path) -> dict[str, Any]:
    """Return the figures of `minute`; all that is made lies in `place`."""
    begun = time.perf_counter()
    venv.create(place / "env", with_pip=True)
    python = place / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    installed = time.perf_counter()
    command = [python.with_name("fathom"), "ask", QUESTION, "--docs", folder, "--offline"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "PYTHONPATH": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        answer = process.stdout.readline().strip()
        answered = time.perf_counter()
        process.stdout.read()
    return {
        "files": sum(path.is_file() for path in folder.rglob("*")),
        "install_s": round(installed - begun, 1),
        "answer_s": round(answered - installed, 1),
        "vectors_s": round(time.perf_counter() - answered, 1),
        "answer": answer,
        "exit_code": process.returncode,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    many = commands.add_parser("many")
    many.add_argument("--index", type=Path)
    many.add_argument("--questions", type=Path, nargs="*", default=QUESTIONS)
    many.add_argument("--number", type=int, default=200)
    minute = commands.add_parser("minute")
    minute.add_argument("wheel", type=Path)
    minute.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.command == "many":
            index = options.index or place / "index"
            if options.index is None:
                ingest = [FATHOM, "ingest", SAMPLES / "corpus", "--index", index]
                subprocess.run(ingest, check=True, capture_output=True)
            figures = compare_calls(index, read_questions(options.questions, options.number))
        else:
            files = options.folder or place / "files"
            if options.folder is None:
                copy_mixed_files(files)
            figures = measure_minute(options.wheel, files, place)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
