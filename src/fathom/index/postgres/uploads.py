"""Files that were sent to a workspace, kept on the server for whoever reads or shows them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from fathom.errors import RunError
from fathom.index.postgres.database import ServerDatabase
from fathom.index.postgres.schema import ENTERED

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent last; `path` is where documents are said to be from."""

    no: int
    name: str
    path: str
    size: int


class Uploads:
    """The files of a workspace by their names; each is there whole or not at all."""

    def __init__(self, database: ServerDatabase) -> None:
        """Nothing is asked before it is needed."""
        self._database = database

    def put(self, name: str, path: str, file: Path) -> None:
        """Keep a file, instead of one of the same name.

        Args:
            name: Below the uploads.
            path: Where its documents will be said to be from, unless they are known already.
            file: Its bytes.
        """
        with self._database.room.entered() as connection, file.open("rb") as source:
            connection.execute(  # who sends a file of this name too comes after
                "SELECT pg_advisory_xact_lock(%s, hashtext(%s))",
                (self._database.room.workspace, name),
            )
            known = connection.execute(
                f"DELETE FROM uploads WHERE name = %s AND {ENTERED} RETURNING path",  # noqa: S608 - constant
                (name,),
            ).fetchone()
            row = connection.execute(
                "INSERT INTO uploads(name, path, size) VALUES (%s, %s, %s) RETURNING no",
                (name, known[0] if known else path, file.stat().st_size),
            ).fetchone()
            assert row is not None
            number = 0
            while piece := source.read(PIECE):
                connection.execute(
                    "INSERT INTO pieces(upload_no, piece, bytes) VALUES (%s, %s, %s)",
                    (row[0], number, piece),
                )
                number += 1

    def place(self, name: str, path: str) -> str:
        """Say from now on that the documents of a file are from a path; returns the one before."""
        rows = self._rows(
            "UPDATE uploads SET path = %s FROM (SELECT no, path FROM uploads WHERE name = %s "  # noqa: S608 - constant
            f"AND {ENTERED}) AS old WHERE uploads.no = old.no RETURNING old.path",
            *(path, name),
        )
        return str(rows[0][0]) if rows else ""

    def find(self, path: str) -> Upload | None:
        """The file that the documents of a path are from; `None` if it was not sent."""
        rows = self._rows(
            f"SELECT no, name, path, size FROM uploads WHERE path = %s AND {ENTERED} "  # noqa: S608 - constant
            "ORDER BY no DESC LIMIT 1",
            path,
        )
        return Upload(*rows[0]) if rows else None

    def all(self) -> list[Upload]:
        """All files, by their names."""
        rows = self._rows(f"SELECT no, name, path, size FROM uploads WHERE {ENTERED} ORDER BY name")  # noqa: S608 - constant
        return [Upload(*row) for row in rows]

    def fetch(self, name: str, target: Path) -> bool:
        """Write a file, in one step; whether there is one of this name."""
        part = target.parent / f".{token_hex(8)}.part"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o600)
            with self._database.room.entered() as connection, part.open("wb") as file:
                # It is not replaced while it is read.
                found = connection.execute(
                    f"SELECT no, size FROM uploads WHERE name = %s AND {ENTERED} FOR SHARE",  # noqa: S608 - constant
                    (name,),
                ).fetchone()
                if found is None:
                    return False
                for number in range(-(-found[1] // PIECE)):
                    row = connection.execute(
                        "SELECT bytes FROM pieces WHERE upload_no = %s AND piece = %s",
                        (found[0], number),
                    ).fetchone()
                    assert row is not None
                    file.write(row[0])
            part.replace(target)
        except OSError as error:
            raise RunError(
                f"{target}: {error.strerror}; a file that was sent to a server is read there, so "
                "name the files and folders that are meant, or run it where it was sent"
            ) from error
        finally:
            part.unlink(missing_ok=True)
        return True

    def remove(self, path: str) -> None:
        """Forget the file that the documents of a path are from, if there is one."""
        self._rows(f"DELETE FROM uploads WHERE path = %s AND {ENTERED} RETURNING no", path)  # noqa: S608 - constant

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.room.ask(statement, values)

    @contextmanager
    def on_disk(self, wanted: dict[str, Path]) -> Iterator[list[Path]]:
        """Have files on this disk while the block runs, by their names; gives those there are.

        Raises:
            RunError: If they cannot be written there.
        """
        there: list[Path] = []
        try:
            for name, target in wanted.items():
                if self.fetch(name, target):
                    there.append(target)
            yield there
        finally:
            for target in there:
                target.unlink(missing_ok=True)
