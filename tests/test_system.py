"""Fathom runs where the modules of POSIX systems are absent: `fathom.system`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.without_posix import ABSENT, hide_modules

import fathom.system
from fathom.errors import IndexLocked
from fathom.index.embedded.lock import WriterLock, describe_holder
from fathom.system import (
    ASSUMED_MEMORY,
    is_end_by,
    limit_resource,
    measure_memory,
    renew_cpu,
)


def test_a_question_is_answered_where_the_modules_of_posix_are_absent(tmp_path: Path) -> None:
    absent = hide_modules(tmp_path)
    (tmp_path / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({ABSENT}))\n"
        "from fathom import Engine\n"
        "with Engine.open('index', {'offline': True, 'ingest.workers': '2'}) as engine:\n"
        "    print(engine.ingest('fees.md').new)\n"
        "    print(engine.ask('What does a mooring permit cost?').short_answer)\n"
    )
    path = os.pathsep.join([str(absent), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["1", "40", "crowns", "a", "year"]


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_a_second_writer_is_refused_until_the_first_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_fcntl: bool
) -> None:
    if not has_fcntl:
        monkeypatch.setattr(fathom.system, "_fcntl", None)
    path = tmp_path / "lock"
    with WriterLock(path):
        with pytest.raises(IndexLocked, match=f"process {os.getpid()} on "):
            WriterLock(path)
        assert describe_holder(path).startswith(f"process {os.getpid()} on ")
    assert describe_holder(path) == ""
    WriterLock(path).release()


def test_a_dead_writer_leaves_no_lock_where_files_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import os, sys; sys.modules['fcntl'] = None\n"
        "from pathlib import Path\n"
        "from fathom.index.embedded.lock import WriterLock\n"
        "lock = WriterLock(Path('lock')); print(flush=True); sys.stdin.read()"
    )
    monkeypatch.setattr(fathom.system, "_fcntl", None)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout
        writer.stdout.readline()
        with pytest.raises(IndexLocked, match=f"process {writer.pid} on "):
            WriterLock(tmp_path / "lock")
        writer.kill()
    assert describe_holder(tmp_path / "lock") == ""
    WriterLock(tmp_path / "lock").release()


def test_a_writer_that_finds_no_room_for_its_name_holds_and_frees_the_lock(tmp_path: Path) -> None:
    program = (
        "import resource, signal\n"
        "from pathlib import Path\n"
        "from fathom.errors import IndexLocked\n"
        "from fathom.index.embedded.lock import WriterLock\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"  # as on a full disk
        "for _ in range(2):\n"
        "    with WriterLock(Path('lock')):\n"
        "        try:\n"
        "            WriterLock(Path('lock'))\n"
        "        except IndexLocked as error:\n"
        "            print('another process' in str(error))\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True"] * 2


def test_limits_are_left_out_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fathom.system, "_resource", None)
    limit_resource("AS", 1)
    renew_cpu(0)
    assert bytearray(1 << 20)


def test_the_memory_of_a_machine_that_does_not_tell_is_assumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert measure_memory() > 100_000_000
    monkeypatch.delattr(os, "sysconf")
    assert measure_memory() == ASSUMED_MEMORY


def test_only_its_own_signal_explains_an_exit_code() -> None:
    assert is_end_by(-14, "SIGALRM")
    assert not is_end_by(-9, "SIGALRM")
    assert not is_end_by(14, "SIGALRM")
