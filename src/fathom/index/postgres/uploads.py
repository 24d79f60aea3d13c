"""The files that clients sent to a workspace, stored on the server for every machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from fathom.errors import RunError
from fathom.index.postgres.database import ServerDatabase
from fathom.index.postgres.schema import IN_WORKSPACE

PIECE_BYTES = 1 << 20
"""The size of the pieces in which a file is stored, in bytes."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file in its last version.

    Attributes:
        no: The number of the version.
        name: The name among the uploads.
        path: The path of its documents.
        size: The size in bytes.
    """

    no: int
    name: str
    path: str
    size: int


class Uploads:
    """The uploaded files of a workspace by name; each is stored whole or not at all."""

    def __init__(self, database: ServerDatabase) -> None:
        """Create the store; nothing is sent to the server yet."""
        self._database = database

    def put(self, name: str, path: str, file: Path) -> None:
        """Store a file in one step, in place of one of the same name.

        Args:
            name: The name among the uploads.
            path: The path that its documents get; a file of the same name keeps its path.
            file: The file with the bytes.
        """
        with self._database.tables.begin() as connection, file.open("rb") as source:
            connection.execute(  # two uploads of one name take turns
                "SELECT pg_advisory_xact_lock(%s, hashtext(%s))",
                (self._database.tables.workspace, name),
            )
            earlier = connection.execute(
                f"DELETE FROM uploads WHERE name = %s AND {IN_WORKSPACE} RETURNING path",  # noqa: S608 - constant
                (name,),
            ).fetchone()
            row = connection.execute(
                "INSERT INTO uploads(name, path, size) VALUES (%s, %s, %s) RETURNING no",
                (name, earlier[0] if earlier else path, file.stat().st_size),
            ).fetchone()
            assert row is not None
            number = 0
            while piece := source.read(PIECE_BYTES):
                connection.execute(
                    "INSERT INTO pieces(upload_no, piece, bytes) VALUES (%s, %s, %s)",
                    (row[0], number, piece),
                )
                number += 1

    def set_path(self, name: str, path: str) -> str:
        """Change the path of a file's documents; return the earlier path, `""` without the file."""
        rows = self._execute(
            "UPDATE uploads SET path = %s FROM (SELECT no, path FROM uploads WHERE name = %s "  # noqa: S608 - constant
            f"AND {IN_WORKSPACE}) AS old WHERE uploads.no = old.no RETURNING old.path",
            *(path, name),
        )
        return str(rows[0][0]) if rows else ""

    def find(self, path: str) -> Upload | None:
        """Return the file whose documents have a path; `None` if no uploaded file has it."""
        rows = self._execute(
            f"SELECT no, name, path, size FROM uploads WHERE path = %s AND {IN_WORKSPACE} "  # noqa: S608 - constant
            "ORDER BY no DESC LIMIT 1",
            path,
        )
        return Upload(*rows[0]) if rows else None

    def list_uploads(self) -> list[Upload]:
        """Return all files, ordered by name."""
        rows = self._execute(
            f"SELECT no, name, path, size FROM uploads WHERE {IN_WORKSPACE} ORDER BY name"  # noqa: S608 - constant
        )
        return [Upload(*row) for row in rows]

    def fetch(self, name: str, target: Path) -> bool:
        """Write a file to this disk in one step.

        Args:
            name: The name among the uploads.
            target: The path to write to; missing folders are created.

        Returns:
            Whether there is a file of this name.

        Raises:
            RunError: If it cannot be written there.
        """
        part = target.parent / f".{token_hex(8)}.part"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o600)
            with self._database.tables.begin() as connection, part.open("wb") as file:
                # FOR SHARE keeps others from replacing the file between its pieces.
                upload = connection.execute(
                    f"SELECT no, size FROM uploads WHERE name = %s AND {IN_WORKSPACE} FOR SHARE",  # noqa: S608 - constant
                    (name,),
                ).fetchone()
                if upload is None:
                    return False
                for number in range(-(-upload[1] // PIECE_BYTES)):
                    row = connection.execute(
                        "SELECT bytes FROM pieces WHERE upload_no = %s AND piece = %s",
                        (upload[0], number),
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
        """Remove the file whose documents have a path, if there is one."""
        self._execute(f"DELETE FROM uploads WHERE path = %s AND {IN_WORKSPACE} RETURNING no", path)  # noqa: S608 - constant

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        return self._database.tables.execute(statement, values)

    @contextmanager
    def fetch_files(self, targets: dict[str, Path]) -> Iterator[list[Path]]:
        """Write files to this disk, and delete them after the `with` block.

        Args:
            targets: The path to write to, by the name among the uploads.

        Yields:
            The written files; names that no upload has are left out.

        Raises:
            RunError: If they cannot be written there.
        """
        written: list[Path] = []
        try:
            for name, target in targets.items():
                if self.fetch(name, target):
                    written.append(target)
            yield written
        finally:
            for target in written:
                target.unlink(missing_ok=True)
