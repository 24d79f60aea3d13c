"""How long this process has been running: what its user has waited."""

import os
import time
from pathlib import Path

_IMPORTED = time.monotonic()


def seconds_running() -> float:
    """Seconds since the process began; where the system does not tell, since this was imported."""
    try:
        # The command in brackets may hold anything; the 20th field after it is the start.
        after = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2]
        begun = int(after.split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - begun
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED
