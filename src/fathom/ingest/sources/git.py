"""A source that is one revision of a git repository, which the program `git` reads."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

from fathom.errors import SourceUnavailable, UsageError
from fathom.ingest.sources.base import (
    ObjectFailure,
    SourceObject,
    SourceOptions,
    copy_limited,
    is_disk_full,
)
from fathom.ingest.sources.fetch import (
    AddressRefusal,
    WayOut,
    find_proxy,
    get_port,
    guard_host,
)
from fathom.ingest.sources.sidecars import find_document_name

SECONDS = 1800
"""The longest time in seconds for one command of git, such as a fetch."""
BRANCH = "refs/fathom/revision"
"""The reference in the mirror that names the revision which was fetched last."""
_PROTOCOLS = "file:git:http:https:ssh"
"""The transports that git may use; others, such as `ext`, can run any program."""
_SHORT_SSH = re.compile(r"(?P<host>[\w.-]+@[\w.-]+):(?P<path>[^/].*)")
_FORGES = {
    "github.com": "blob",
    "gitlab.com": "-/blob",
    "codeberg.org": "src/branch",
    "bitbucket.org": "src",
}
"""The paths of files on well-known sites, by host."""
_FOREIGN = frozenset({
    "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_CONFIG",
})  # fmt: skip
"""The variables by which git tells its hooks and aliases of another repository than the mirror."""
_HELPER = '!f() { echo "username=$SOURCE_USER"; echo "password=$SOURCE_PASSWORD"; }; f'
"""A credential helper that reads the environment, to keep the password out of arguments."""


class _GitKilled(SourceUnavailable):
    """The program git was killed or took too long, so that its mirror may be damaged."""


class GitSource:
    """The files of one revision of a repository, kept in a bare mirror without history."""

    has_sidecars = True

    def __init__(self, url: str, options: SourceOptions, network: WayOut | None = None) -> None:
        """Create the source; nothing is fetched yet.

        Args:
            url: `git+https://HOST/PATH`, with `@REVISION` at the end for another revision than the
                default branch; also `git+ssh`, `git+file`, `git+http`, `ssh://`, `USER@HOST:PATH`.
            options: The options.
            network: The functions that look up hosts and connect; by default those of the system.

        Raises:
            UsageError: If the URL names no repository, the program `git` is missing, or the
                repository needs a connection while offline.
        """
        self.repository, self.revision = split_revision(url)
        # A server takes the short form for a path in the user's home, and that of a URL for one
        # from its root.
        short = _SHORT_SSH.fullmatch(url)
        self._remote = (
            f"{short['host']}:{_split_path(short['path'])[0]}" if short else self.repository
        )
        self._options, self._network = options, network
        self._mirror = options.folder / "mirror.git"
        self._git = shutil.which("git") or ""
        if not self._git:
            raise UsageError("the program git is missing; install it to read repositories")
        if options.offline and not self.repository.startswith("file://"):
            raise UsageError(f"offline: {self.repository} would need a connection")

    def list_objects(self) -> Iterator[SourceObject]:
        """Update the mirror, and yield the files of the revision.

        Raises:
            SourceUnavailable: If the repository cannot be fetched or read.
        """
        self._update()
        with self._read("ls-tree", "-r", "-z", "--full-tree", BRANCH) as stream:
            for row in _iterate_rows(stream):
                head, _, raw_name = row.partition(b"\t")
                mode, _, blob = head.decode().split(" ")
                name = raw_name.decode("utf-8", "backslashreplace")
                # Links and submodules have no content, so they are left out. One with the name of a
                # sidecar is listed: it cannot be read, so nobody may read the document beside it.
                if mode.startswith("100") or find_document_name(name) is not None:
                    address = self._make_address(raw_name)
                    yield SourceObject(name=name, address=address, token=blob)

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write the content of a file of the revision.

        Raises:
            ObjectFailure: If the file cannot be read or written, or is too large.
            OSError: If the disk is full.
        """
        try:
            with (
                self._read("cat-file", "blob", item.token) as stream,
                file.open("wb") as target,
            ):
                copy_limited(stream, target, self._options.most_bytes)
        except SourceUnavailable as error:
            raise ObjectFailure(str(error)) from None
        except OSError as error:
            if is_disk_full(error):
                raise
            raise ObjectFailure(f"cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Do nothing: the mirror stays for the next listing."""

    def _update(self) -> None:
        """Fetch the revision into the mirror, after mending what a killed process has left.

        Raises:
            SourceUnavailable: If the fetch fails.
        """
        # A killed fetch can leave a commit without its parents, and each later fetch fails because
        # of it. So a file marks a fetch that has not ended, and the mirror is then made anew.
        unfinished = self._mirror.with_suffix(".unfinished")
        if unfinished.exists() or not (self._mirror / "HEAD").is_file():
            shutil.rmtree(self._mirror, ignore_errors=True)
            self._mirror.mkdir(parents=True)
            self._run("init", "--quiet", "--bare")
        # Locks that a killed process left. No other process uses the mirror, because a lock allows
        # one synchronization of the source at a time.
        for leftover in (*self._mirror.glob("*.lock"), *self._mirror.glob("refs/fathom/*.lock")):
            leftover.unlink(missing_ok=True)
        options = self._pin_host()
        unfinished.touch()
        try:
            self._fetch(options)
        except _GitKilled:
            raise
        except SourceUnavailable:
            unfinished.unlink()
            raise
        unfinished.unlink()

    def _fetch(self, options: Sequence[str]) -> None:
        """Fetch the revision into the mirror."""
        self._run(
            *options,
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--force"),
            *("--no-recurse-submodules", "--", self._remote, f"{self.revision}:{BRANCH}"),
        )

    def _pin_host(self) -> Sequence[str]:
        """Return the options that make git connect to a checked address of a web server.

        There are none for other transports and if git uses a proxy.

        Raises:
            SourceUnavailable: If one of the addresses of the server may not be reached.
        """
        # The configuration of git may lead elsewhere, which is the operator's own.
        url = self._run("ls-remote", "--get-url", "--", self._remote).strip()
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or self._find_proxy(url):
            return ()
        host, port = str(parts.hostname).encode("idna").decode(), get_port(parts)
        guard = guard_host(host, port, self._network, is_named=self._options.allow_private)
        try:
            address = guard.resolve(host, port)[0]
        except AddressRefusal as refusal:
            raise SourceUnavailable(f"{self.repository}: is not reached: {refusal}") from None
        except OSError as error:
            raise SourceUnavailable(f"{self.repository}: {host}: {error.strerror}") from None
        if address == host:
            return ()
        bracketed = f"[{address}]" if ":" in address else address
        return ("-c", f"http.curloptResolve={host}:{port}:{bracketed}")

    def _find_proxy(self, url: str) -> str:
        """Return the proxy through which git reaches a web server; empty if there is none."""
        parts = urlsplit(url)
        with suppress(SourceUnavailable):  # git fails if no proxy is configured
            return self._run("config", "--get-urlmatch", "http.proxy", url).strip()
        return find_proxy(parts.scheme, str(parts.hostname))

    def _run(self, *arguments: str) -> str:
        """Run git in the mirror, and return its output.

        Raises:
            SourceUnavailable: If git fails.
        """
        try:
            completed = subprocess.run(  # noqa: S603 - checked arguments
                self._build_command(*arguments),
                env=self._build_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            kind = _GitKilled if error.returncode < 0 else SourceUnavailable
            raise kind(self._describe_failure(error.stderr)) from None
        except subprocess.TimeoutExpired:
            raise _GitKilled(f"{self.repository}: took longer than {SECONDS} s") from None
        return completed.stdout.decode("utf-8", "replace")

    @contextmanager
    def _read(self, *arguments: str) -> Iterator[IO[bytes]]:
        """Run git in the mirror for a `with` block, which must read all of the output.

        Raises:
            SourceUnavailable: At the end of the block, if git failed.
        """
        with subprocess.Popen(  # noqa: S603 - checked arguments
            self._build_command(*arguments),
            env=self._build_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            if process.stdout is None or process.stderr is None:
                raise RuntimeError("a process started with pipes has them")
            try:
                yield process.stdout
                failure = process.stderr.read()
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise SourceUnavailable(self._describe_failure(failure))

    def _build_command(self, *arguments: str) -> list[str]:
        """Return the command that runs git in the mirror with safe settings."""
        options = {
            "core.hooksPath": os.devnull,
            # A redirection could lead to a host that was not checked.
            "http.followRedirects": "false",
            "http.lowSpeedLimit": "1000",
            "http.lowSpeedTime": "60",
            "protocol.ext.allow": "never",
        }
        if self._options.password:
            options |= {"credential.helper": _HELPER}
        pairs = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        return [self._git, "--git-dir", str(self._mirror), *pairs, *arguments]

    def _build_environment(self) -> Mapping[str, str]:
        """Return the environment of git, which never asks a person for a password."""
        return {
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            **{name: value for name, value in os.environ.items() if name not in _FOREIGN},
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "SOURCE_USER": self._options.user,
            "SOURCE_PASSWORD": self._options.password,
        }

    def _describe_failure(self, output: bytes) -> str:
        """Return a message of one line for what git wrote to its error output."""
        lines = output.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith("fatal:")] or lines
        reason = fatal[0].removeprefix("fatal: ") if fatal else "git failed"
        return f"{self.repository}: {reason}"

    def _make_address(self, name: bytes) -> str:
        """Return the address of a file: its page on a known forge, or below the repository."""
        parts = urlsplit(self.repository)
        folder = _FORGES.get(parts.hostname or "") if parts.scheme == "https" else None
        if folder is None:
            return f"{self.repository}/{quote(name)}"
        return f"{self.repository.removesuffix('.git')}/{folder}/{self.revision}/{quote(name)}"


def split_revision(url: str) -> tuple[str, str]:
    """Return the address of a repository as git takes it, and the revision (`HEAD` if none).

    Raises:
        UsageError: If the URL names no repository.
    """
    short = _SHORT_SSH.fullmatch(url)
    url = f"ssh://{short['host']}/{short['path']}" if short else url.removeprefix("git+")
    with suppress(ValueError):
        parts = urlsplit(url)
        path, revision = _split_path(parts.path)
        repository = parts._replace(path=path.rstrip("/")).geturl()
        is_whole = parts.scheme in _PROTOCOLS.split(":") and len(path) > 1
        if is_whole and not revision.startswith(("-", "+")) and ":" not in revision:
            return repository, revision or "HEAD"
    raise UsageError(
        f"{url!r} names no git repository; write git+https://HOST/PATH or git+file:///PATH, with "
        "@REVISION at the end for another revision than the default branch"
    )


def _split_path(path: str) -> tuple[str, str]:
    """Return the path of a repository without the revision behind it, and the revision.

    A path may hold `@` itself if its last part ends with `.git`.
    """
    stem, mark, revision = path.partition(".git@")
    if mark or stem.rstrip("/").endswith(".git"):
        return f"{stem}.git" if mark else stem, revision
    path, _, revision = path.partition("@")
    return path, revision


def _iterate_rows(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the rows of an output in which a zero byte ends each row."""
    rest = b""
    while piece := stream.read(1 << 16):
        *rows, rest = (rest + piece).split(b"\0")
        yield from rows
