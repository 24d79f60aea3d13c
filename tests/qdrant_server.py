"""A Qdrant server for tests: the one that `FATHOM_QDRANT_URL` names, or the embedded engine."""

import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fathom.llm.retry import RetryPolicy

KEY_ENV = "FATHOM_QDRANT_KEY" if "FATHOM_QDRANT_KEY" in os.environ else ""
REAL = os.environ.get("FATHOM_QDRANT_URL", "")
QUICK = RetryPolicy(tries=3, first_wait_s=0.05)


@dataclass
class EdgeServer:
    """`tests.qdrant_edge` in its own process, which tests may kill and start again."""

    directory: Path
    shards: int = 1
    url: str = ""
    key: str = ""
    _child: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start the server over its directory."""
        port = self.url.rpartition(":")[2] or "0"
        module = [sys.executable, "-m", "tests.qdrant_edge", str(self.directory.absolute())]
        self._child = subprocess.Popen(
            [*module, "--port", port, "--shards", str(self.shards), "--key-env", "TEST_KEY"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TEST_KEY": self.key},
            cwd=Path(__file__).parents[1],
        )
        assert self._child.stdout is not None
        self.url = self._child.stdout.readline().strip()
        assert self.url, "the server did not start"

    def kill(self) -> None:
        """End the server by SIGKILL, if it runs."""
        if self._child is not None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            assert self._child.stdout is not None
            self._child.stdout.close()
            self._child = None


def skip_without_edge() -> None:
    """Skip the test where the engine is not installed."""
    if importlib.util.find_spec("qdrant_edge") is None:
        pytest.skip("needs Qdrant's engine: pip install qdrant-edge-py")
