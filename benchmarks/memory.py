"""The memory of a process, measured without libraries, which other environments may lack."""

import re
from pathlib import Path


def measure_peak_mb() -> int:
    """Return the largest resident size of this process so far, in MB.

    `ru_maxrss` would be at least that of the process that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return round(int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) / 1024)
