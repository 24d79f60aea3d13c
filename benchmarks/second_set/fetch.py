"""The files of the second set of questions: python -m benchmarks.second_set.fetch DIR.

Downloads the pinned Debian and PyPI packages of `sources.toml` with `apt-get` and `pip`, unpacks
the files that belong to the set, without installing anything, and compares each with its sha256.
DIR is a data set of `fathom eval` afterwards: `documents/` and `questions.jsonl`. Files that DIR
holds already are not fetched again. It runs on Debian 12, amd64.
"""

import argparse
import gzip
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the set, and where it lies in its package."""

    kind: str
    name: str
    member: str
    sha256: str

    def decode(self, data: bytes) -> bytes:
        """Return the file as the set has it: unpacked, and a description without its header."""
        if self.member.endswith(".gz"):
            return gzip.decompress(data)
        if self.member.endswith("METADATA"):
            return data.replace(b"\r\n", b"\n").split(b"\n\n", 1)[1]
        return data


@dataclass(frozen=True, slots=True)
class Package:
    """A package of one version, and its files that belong to the set."""

    registry: str
    name: str
    version: str
    licence: str
    members: tuple[Member, ...]

    def download(self, folder: Path) -> Path:
        """Return the package's archive, downloaded into an empty folder.

        Raises:
            SystemExit: If the registry does not have it.
        """
        command: Sequence[str] = ("apt-get", "download", f"{self.name}={self.version}")
        if self.registry == "pypi":
            pinned = f"{self.name}=={self.version}"
            command = (sys.executable, "-m", "pip", "download", "--no-deps", pinned)
        outcome = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
        if outcome.returncode:
            raise SystemExit(
                f"{self.name} {self.version} is not to be had: {outcome.stderr[-300:]}"
            )
        (archive,) = folder.iterdir()
        return archive

    def read(self, archive: Path) -> Iterator[tuple[Member, bytes]]:
        """Yield the package's files that belong to the set."""
        if self.registry == "pypi":
            with ZipFile(archive) as wheel:
                names = wheel.namelist()
                for member in self.members:
                    (name,) = (name for name in names if name.endswith(member.member))
                    yield member, wheel.read(name)
            return
        command = ("dpkg-deb", "--fsys-tarfile", str(archive))
        unpacked = subprocess.run(command, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(unpacked)) as tree:
            for member in self.members:
                stream = tree.extractfile(f"./{member.member}")
                assert stream is not None
                yield member, stream.read()


def read_packages() -> Iterator[Package]:
    """Yield the packages of the set."""
    table = tomllib.loads((FOLDER / "sources.toml").read_text("utf-8"))
    for registry, packages in table.items():
        for name, fields in packages.items():
            members = tuple(Member(**row) for row in fields["files"])
            yield Package(registry, name, fields["version"], fields["licence"], members)


def is_there(member: Member, documents: Path) -> bool:
    """Return whether the folder holds the file, as it should be."""
    file = documents / member.name
    return file.is_file() and sha256(file.read_bytes()).hexdigest() == member.sha256


def fetch(package: Package, documents: Path) -> None:
    """Put the files of a package into the folder.

    Raises:
        SystemExit: If one of them is not the file that the questions were asked about.
    """
    if all(is_there(member, documents) for member in package.members):
        return
    with TemporaryDirectory() as folder:
        for member, data in package.read(package.download(Path(folder))):
            text = member.decode(data)
            if sha256(text).hexdigest() != member.sha256:
                raise SystemExit(f"{member.member} of {package.name} is another file than it was")
            (documents / member.name).write_bytes(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch all files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to put them")
    folder: Path = parser.parse_args(arguments).folder
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    for package in read_packages():
        fetch(package, documents)
    shutil.copy(FOLDER / "questions.jsonl", folder)
    print(f"{sum(1 for _ in documents.iterdir())} files in {documents}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
