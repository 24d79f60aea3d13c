"""Real servers with documents, for tests of sources; each is a child of its test."""

import imaplib
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fathom.ingest.sources.base import is_hidden

USER, PASSWORD = "ana", "canary-7f3a-secret"
SECONDS = 30.0
"""The time for the start of a server."""
SFTP_SERVER = """
import asyncio, sys
import asyncssh

folder, port, key, user, password = sys.argv[1:]

class Server(asyncssh.SSHServer):
    def begin_auth(self, username):
        return True
    def password_auth_supported(self):
        return True
    def validate_password(self, username, given):
        return (username, given) == (user, password)

async def serve():
    await asyncssh.listen(
        "127.0.0.1", int(port), server_host_keys=[key], server_factory=Server,
        sftp_factory=lambda connection: asyncssh.SFTPServer(connection, chroot=folder),
    )
    await asyncio.Event().wait()

asyncio.run(serve())
"""

SITE_SERVER = """
import hashlib, html, http.server, mimetypes, pathlib, sys, urllib.parse

folder, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
mimetypes.add_type("text/markdown", ".md")
mimetypes.add_type("text/plain", ".toml")

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        name = path.removeprefix("/team/")
        file = folder / name
        if path == "/team/":
            self.reply(self.list_files().encode(), "text/html")
        elif path.startswith("/team/") and name and file.is_file():
            self.reply(file.read_bytes(), mimetypes.guess_type(name)[0] or "application/x-other")
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def list_files(self):
        files = (file for file in folder.rglob("*") if file.is_file())
        names = sorted(urllib.parse.quote(str(file.relative_to(folder))) for file in files)
        links = "".join(f'<a href="{html.escape(name)}">x</a>' for name in names)
        return f'<html><meta name="robots" content="noindex"><body>{links}</body></html>'

    def reply(self, content, kind):
        etag = '"' + hashlib.sha256(content).hexdigest() + '"'
        is_same = self.headers.get("If-None-Match") == etag
        self.send_response(304 if is_same else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", "0" if is_same else str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if is_same else content)

    def log_message(self, *_):
        print(self.command, self.path, flush=True)

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""

GIT_SERVER = """
import base64, http.server, os, subprocess, sys, urllib.parse

root, port, user, password = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
SECRET = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        if parts.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/moved/", "/"))
            self.end_headers()
        elif self.headers.get("Authorization") != SECRET:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
        else:
            self.answer(parts)

    do_POST = do_GET

    def answer(self, parts):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        variables = {
            "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": user, "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        ran = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True,
            env={**os.environ, **variables},
        )
        head, _, content = ran.stdout.partition(b"\\r\\n\\r\\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""

IMAP_SERVER = """
import asyncio, functools, ssl, sys
from pymap.main import main

certificate, *arguments = sys.argv[1:]
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(certificate)
# The server itself begins without encryption.
asyncio.start_server = functools.partial(asyncio.start_server, ssl=context)
sys.argv[1:] = ["--no-tls", *arguments]
main()
"""


def find_free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def format_message(name: str, text: str) -> str:
    """Return a message that has the last part of a name as its id."""
    return (
        f"Message-ID: <{Path(name).name}>\nSubject: Notice\n"
        f"Content-Type: text/plain; charset=utf-8\n\n{text}"
    )


class FolderWorld:
    """A folder of this machine."""

    options: Mapping[str, Any] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.url = str(folder)

    def write(self, texts: Mapping[str, str]) -> None:
        """Write files; others stay."""
        write_files(self.folder, texts)

    def remove(self, *names: str) -> None:
        """Remove files."""
        for name in names:
            (self.folder / name).unlink()

    def stop(self) -> None:
        """Take the folder away."""
        self.folder.rename(self.folder.with_name("away"))

    def start(self) -> None:
        """Bring the folder back."""
        self.folder.with_name("away").rename(self.folder)


class GitWorld(FolderWorld):
    """A git repository, which git itself serves from a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"git+file://{folder}"
        self.run("init", "--quiet")
        self.commit()

    def run(self, *arguments: str) -> None:
        """Run git in the repository."""
        person = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
        subprocess.run(["git", "-C", str(self.folder), *person, *arguments], check=True)

    def write(self, texts: Mapping[str, str]) -> None:
        """Write files and commit them."""
        super().write(texts)
        self.commit()

    def remove(self, *names: str) -> None:
        """Remove files and commit that."""
        super().remove(*names)
        self.commit()

    def commit(self) -> None:
        """Commit all changes."""
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--message", "Change")


class MailboxWorld(FolderWorld):
    """A mailbox file whose messages have the last parts of names as their ids."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "Inbox"
        self.file.touch()
        self.url = f"mbox://{self.file}"
        self.texts: dict[str, str] = {}

    def write(self, texts: Mapping[str, str]) -> None:
        """Write messages; mailboxes have no hidden ones."""
        self.texts |= {name: text for name, text in texts.items() if not is_hidden(name)}
        self.save()

    def remove(self, *names: str) -> None:
        """Remove messages."""
        for name in names:
            del self.texts[name]
        self.save()

    def save(self) -> None:
        """Write the file anew, as programs of mail do."""
        messages = (
            f"From ana@example.org Fri Nov 27 10:00:00 2026\n{format_message(name, text)}\n\n"
            for name, text in self.texts.items()
        )
        new = self.file.with_suffix(".new")
        new.write_text("".join(messages))
        new.replace(self.file)


class ServerWorld(FolderWorld):
    """A folder that a server in a child process serves."""

    options: Mapping[str, Any] = {"allow_private": True}

    def __init__(self, folder: Path, command: Sequence[str], port: int, url: str) -> None:
        super().__init__(folder)
        self.command, self.port, self.url = command, port, url
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = self.folder.with_name("server.log").open("wb")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, *self.command], stdout=log, stderr=subprocess.STDOUT
            )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(self.folder.with_name("server.log").read_text())

    def stop(self) -> None:
        """Kill the server."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


class ServedGitWorld(ServerWorld, GitWorld):
    """A git repository that a web server shows to those who know the password."""

    def __init__(self, folder: Path) -> None:
        port = find_free_port()
        command = ["-c", GIT_SERVER, str(folder.parent), str(port), USER, PASSWORD]
        url = f"git+http://127.0.0.1:{port}/{folder.name}/.git"
        ServerWorld.__init__(self, folder, command, port, url)
        self.run("init", "--quiet")
        self.commit()


class BucketWorld(ServerWorld):
    """A bucket of an S3 server in memory; the folder holds what it must get after a start.

    `AWS_ENDPOINT_URL` names the server.
    """

    options: Mapping[str, Any] = {}

    def __init__(self, folder: Path) -> None:
        port = find_free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        command = ["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        super().__init__(folder, command, port, "s3://notices/team")

    def start(self) -> None:
        """Start the server and fill the bucket."""
        super().start()
        self.client = self.open_client()
        self.client.create_bucket(Bucket="notices")
        self.put({str(file.relative_to(self.folder)): file for file in self.iterate_files()})

    def stop(self) -> None:
        """Kill the server."""
        self.client.close()
        super().stop()

    def open_client(self) -> Any:
        """Return a client of the server."""
        import botocore.session

        return botocore.session.get_session().create_client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=USER,
            aws_secret_access_key=PASSWORD,
        )

    def iterate_files(self) -> Iterator[Path]:
        """Yield the files of the folder."""
        return (file for file in self.folder.rglob("*") if file.is_file())

    def put(self, files: Mapping[str, Path]) -> None:
        """Put files into the bucket."""
        for name, file in files.items():
            self.client.put_object(Bucket="notices", Key=f"team/{name}", Body=file.read_bytes())

    def write(self, texts: Mapping[str, str]) -> None:
        """Write files and put them into the bucket."""
        super().write(texts)
        self.put({name: self.folder / name for name in texts})

    def remove(self, *names: str) -> None:
        """Remove files, in the bucket too."""
        super().remove(*names)
        for name in names:
            self.client.delete_object(Bucket="notices", Key=f"team/{name}")


class ImapWorld(ServerWorld):
    """A folder of an IMAP server whose messages have the last parts of names as their ids."""

    def __init__(self, folder: Path, certificate: Path) -> None:
        folder.mkdir()
        (folder / "pymap-etc-passwd").write_text(f"{USER}:x::::{USER}:\n")
        self.folder = folder
        self.set_password(PASSWORD)
        port = find_free_port()
        arguments = ["--host", "127.0.0.1", "--port", str(port), "maildir", str(folder)]
        command = ["-c", IMAP_SERVER, str(certificate), *arguments]
        super().__init__(folder, command, port, f"imaps://{USER}@127.0.0.1:{port}/INBOX")

    def set_password(self, password: str) -> None:
        """Let the user sign on with another password."""
        from pysasl.hashing import BuiltinHash

        secret = BuiltinHash(rounds=1000).hash(password)
        (self.folder / "pymap-etc-shadow").write_text(f"{USER}:{secret}:::::::\n")

    @contextmanager
    def open_inbox(self) -> Iterator[imaplib.IMAP4]:
        """Open the folder as a program of mail does."""
        with imaplib.IMAP4_SSL(
            "127.0.0.1", self.port, ssl_context=ssl.create_default_context()
        ) as session:
            session.login(USER, PASSWORD)
            session.select("INBOX")
            yield session

    def write(self, texts: Mapping[str, str]) -> None:
        """Put messages into the folder in place of those with their ids."""
        with self.open_inbox() as session:
            for name, text in texts.items():
                if not is_hidden(name):
                    self.delete(session, name)
                    message = format_message(name, text).replace("\n", "\r\n").encode()
                    check_reply(session.append("INBOX", "", "", message))

    def remove(self, *names: str) -> None:
        """Remove messages."""
        with self.open_inbox() as session:
            for name in names:
                self.delete(session, name)

    def delete(self, session: imaplib.IMAP4, name: str) -> None:
        """Remove the messages of an id."""
        numbers = check_reply(session.search(None, "HEADER", "Message-ID", f"<{Path(name).name}>"))
        for number in reversed(numbers.decode().split()):
            check_reply(session.store(number, "+FLAGS", r"(\Deleted)"))
        session.expunge()


def check_reply(reply: tuple[str, Sequence[Any]]) -> bytes:
    """Return what a server replied, if it did as it was told."""
    status, (data, *_) = reply
    assert status == "OK", data
    return bytes(data or b"")


def make_webdav_world(folder: Path) -> ServerWorld:
    """Make a folder that a WebDAV server serves."""
    port = find_free_port()
    config = folder.with_name("wsgidav.json")
    config.write_text(
        f'{{"host": "127.0.0.1", "port": {port}, "provider_mapping": {{"/team": "{folder}"}},'
        f'"simple_dc": {{"user_mapping": {{"*": {{"{USER}": {{"password": "{PASSWORD}"}}}}}}}},'
        '"http_authenticator": {"accept_basic": true, "default_to_digest": false}}'
    )
    command = ["-m", "wsgidav.server.server_cli", "--config", str(config)]
    return ServerWorld(folder, command, port, f"webdav://127.0.0.1:{port}/team")


def make_sftp_world(folder: Path, home: Path) -> ServerWorld:
    """Make a folder that an SFTP server serves; its key is among the known hosts of `home`."""
    import asyncssh

    port = find_free_port()
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(folder.with_name("key"))
    (home / ".ssh").mkdir(parents=True)
    public = key.export_public_key().decode()
    (home / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    command = ["-c", SFTP_SERVER, str(folder), str(port), str(folder.with_name("key"))]
    url = f"sftp://{USER}@127.0.0.1:{port}/"
    return ServerWorld(folder, [*command, USER, PASSWORD], port, url)


def make_site_world(folder: Path) -> ServerWorld:
    """Make a folder that a web server shows as a site, with a list of all pages."""
    port = find_free_port()
    command = ["-c", SITE_SERVER, str(folder), str(port)]
    return ServerWorld(folder, command, port, f"http://127.0.0.1:{port}/team/")


@contextmanager
def open_server(world: ServerWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    """Give the password of a server to its source, and stop the server at the end."""
    monkeypatch.setenv("SOURCE_WORLD_USER", USER)
    monkeypatch.setenv("SOURCE_WORLD_PASSWORD", PASSWORD)
    try:
        yield world
    finally:
        world.stop()
