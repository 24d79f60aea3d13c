"""The environment of each rival, with the measured versions.

A rival must not change what another one, or Fathom, imports; so each has its own. They run
Fathom's embedder and cross-reader out of this repository, for which numpy, ONNX Runtime and
`tokenizers` are enough.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fathom import __version__

PINS: Mapping[str, dict[str, str]] = {
    "fathom": {},  # the environment that runs this
    "langchain": {
        "langchain-classic": "1.0.8",
        "langchain-community": "0.4.2",
        "langchain-core": "1.7.2",
        "faiss-cpu": "1.15.1",
        "rank-bm25": "0.2.2",
        "numpy": "2.4.6",
        "onnxruntime": "1.32.0",
        "tokenizers": "0.23.3",
    },
    "llamaindex": {
        "llama-index-core": "0.14.25",
        "llama-index-retrievers-bm25": "0.8.0",
        "llama-index-vector-stores-faiss": "0.7.0",
        "faiss-cpu": "1.15.1",
        "bm25s": "0.3.16",
        "numpy": "2.4.6",
        "onnxruntime": "1.32.0",
        "tokenizers": "0.23.3",
    },
    "haystack": {
        "haystack-ai": "3.4.0",
        "faiss-haystack": "3.0.0",
        "faiss-cpu": "1.15.1",
        "numpy": "1.26.4",  # faiss-haystack 3.0.0 asks for numpy 1
        "onnxruntime": "1.32.0",
        "tokenizers": "0.23.3",
    },
    "txtai": {
        "txtai": "9.14.0",
        "faiss-cpu": "1.15.1",
        "torch": "2.14.1",
        "numpy": "2.4.6",
        "onnxruntime": "1.32.0",
        "tokenizers": "0.23.3",
    },
}
"""By system; the first package of each is what gives it its version."""

_ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name).split("+")[0]
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def list_versions(name: str) -> dict[str, str]:
    """Return the versions behind a system's results."""
    return {"fathom": str(__version__)} | PINS[name]


def prepare_python(name: str, folder: Path, pins: Mapping[str, str] | None = None) -> Path:
    """Return the interpreter of a system, and create its environment below `folder` if missing.

    Args:
        name: The system.
        folder: The folder of the environments.
        pins: The versions to install; by default those of `PINS`.

    Raises:
        SystemExit: If pip cannot install it.
    """
    pins = PINS[name] if pins is None else pins
    if not pins:
        return Path(sys.executable)
    place = folder / name
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    if _is_installed(python, pins) != pins:
        requirements = [f"{package}=={pin}" for package, pin in pins.items()]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, *requirements], check=False).returncode:
            raise SystemExit(f"rivals: pip cannot install {name}: see above; others need not wait")
    return python


def _is_installed(python: Path, pins: Mapping[str, str]) -> dict[str, str]:
    command = [str(python), "-c", _ASK, *pins]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))
