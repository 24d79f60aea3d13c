import subprocess
import sys

from fathom.serving.cli.output import measure_running_seconds


def test_the_time_before_the_first_import_counts() -> None:
    code = (
        "import time; time.sleep(0.3); "
        "from fathom.serving.cli.output import measure_running_seconds as s; "
        "a = s(); time.sleep(0.2); print(a, s() - a)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, between = map(float, done.stdout.split())
    assert before >= 0.29
    assert between >= 0.19


def test_the_time_grows() -> None:
    first = measure_running_seconds()
    assert measure_running_seconds() >= first > 0
