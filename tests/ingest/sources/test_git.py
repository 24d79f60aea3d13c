"""Repositories are named by URLs, and git does nothing that nobody asked for."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.inside_server import TARGETS, resolve_host
from tests.source_worlds import PASSWORD, USER, ServedGitWorld, open_server

from fathom.documents.discover import FileFilter
from fathom.errors import SourceUnavailable, UsageError
from fathom.ingest.sources.base import ObjectFailure, SourceOptions
from fathom.ingest.sources.fetch import WayOut
from fathom.ingest.sources.git import GitSource, split_revision
from fathom.testing import make_engine


def make_options(folder: Path, **values: Any) -> SourceOptions:
    fixed: dict[str, Any] = {"name": "a", "file_filter": FileFilter(), "most_bytes": 1 << 20}
    return SourceOptions(folder=folder, **{**fixed, **values})


def commit(repository: Path) -> None:
    person = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    for arguments in (("init", "-q"), ("add", "-A"), (*person, "commit", "-q", "-m", "Change")):
        subprocess.run(["git", *arguments], cwd=repository, check=True)


@pytest.mark.parametrize(
    ("url", "repository", "revision"),
    [
        ("git+https://example.org/a/b.git", "https://example.org/a/b.git", "HEAD"),
        ("git+https://example.org/a/b.git@v1.2", "https://example.org/a/b.git", "v1.2"),
        ("git+https://example.org/a/b@fix/one", "https://example.org/a/b", "fix/one"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b.git", "HEAD"),
        ("git@example.org:a/b.git@main", "ssh://git@example.org/a/b.git", "main"),
        ("git@example.org:a@2/b.git", "ssh://git@example.org/a@2/b.git", "HEAD"),
        ("git+https://example.org/a@2/b.git@v1@2", "https://example.org/a@2/b.git", "v1@2"),
        ("git+https://example.org/a@2/b.git/", "https://example.org/a@2/b.git", "HEAD"),
        ("git+file:///srv/b", "file:///srv/b", "HEAD"),
    ],
)
def test_a_url_names_a_repository_and_a_revision(url: str, repository: str, revision: str) -> None:
    assert split_revision(url) == (repository, revision)


@pytest.mark.parametrize(
    "url",
    [
        "git+ext::sh -c id",
        "git+ext://sh",
        "git+https://example.org/a@--upload-pack=id",
        "git+https://example.org/a@x:refs/heads/y",
        "git+https://example.org",
        "git+fd://1/a",
    ],
)
def test_a_url_that_could_run_a_program_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        split_revision(url)


def test_the_short_form_names_a_path_in_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "home" / "b.git"
    repository.mkdir(parents=True)
    (repository / "a.md").write_text("text")
    commit(repository)
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\ncd '{repository.parent}'\nfor last; do :; done\neval \"$last\"\n")
    ssh.chmod(0o700)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    source = GitSource("ana@example.org:b.git", make_options(tmp_path / "kept"))
    (item,) = source.list_objects()
    assert item.address == "ssh://ana@example.org/b.git/a.md"


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"])
def test_another_repository_that_the_environment_names_is_left_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("repository", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.md").write_text(place)
        commit(tmp_path / place)
    other = tmp_path / "other" / ".git"
    files = sorted(other.rglob("*"))
    places = {"GIT_WORK_TREE": other.parent, "GIT_OBJECT_DIRECTORY": other / "objects"}
    monkeypatch.setenv(name, str(places.get(name, other)))
    source = GitSource(f"git+file://{tmp_path}/repository", make_options(tmp_path / "kept"))
    (item,) = source.list_objects()
    source.fetch(item, tmp_path / "fetched")
    assert (tmp_path / "fetched").read_text() == "repository"
    assert sorted(other.rglob("*")) == files


def test_links_and_submodules_are_not_followed(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (repository / "link.md").symlink_to(tmp_path / "secret.md")
    (repository / "folder").symlink_to(tmp_path)
    (repository / "a b#c.md").write_text("text")
    commit(repository)
    source = GitSource(f"git+file://{repository}", make_options(tmp_path / "kept"))
    (item,) = source.list_objects()
    assert item.name == "a b#c.md"
    assert item.address == f"file://{repository}/a%20b%23c.md"


def test_files_of_well_known_sites_have_their_pages_as_addresses(tmp_path: Path) -> None:
    source = GitSource("git+https://github.com/a/b.git@main", make_options(tmp_path))
    assert source._make_address(b"docs/a.md") == "https://github.com/a/b/blob/main/docs/a.md"
    source = GitSource("git+https://gitlab.com/a/b", make_options(tmp_path))
    assert source._make_address(b"a.md") == "https://gitlab.com/a/b/-/blob/HEAD/a.md"


def test_a_large_file_is_refused_while_it_is_read(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.md").write_text("x" * 3_000_000)
    commit(repository)
    url = f"git+file://{repository}"
    source = GitSource(url, make_options(tmp_path / "kept", most_bytes=1 << 20))
    (item,) = source.list_objects()
    with pytest.raises(ObjectFailure, match="more than 1 MB"):
        source.fetch(item, tmp_path / "fetched")


def test_a_missing_repository_is_told_in_one_line(tmp_path: Path) -> None:
    source = GitSource(f"git+file://{tmp_path}/none", make_options(tmp_path / "kept"))
    with pytest.raises(SourceUnavailable) as unavailable:
        list(source.list_objects())
    assert "\n" not in str(unavailable.value)


def test_offline_only_repositories_of_this_machine_are_read(tmp_path: Path) -> None:
    GitSource("git+file:///srv/a", make_options(tmp_path, offline=True))
    with pytest.raises(UsageError, match="offline"):
        GitSource("git+https://example.org/a", make_options(tmp_path, offline=True))


def test_a_lock_that_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.md").write_text("text")
    commit(repository)
    source = GitSource(f"git+file://{repository}", make_options(tmp_path / "kept"))
    assert len(list(source.list_objects())) == 1
    (tmp_path / "kept" / "mirror.git" / "shallow.lock").touch()
    (tmp_path / "kept" / "mirror.git" / "refs" / "fathom" / "revision.lock").touch()
    (repository / "b.md").write_text("text")
    commit(repository)
    assert len(list(source.list_objects())) == 2


def test_a_mirror_is_made_anew_after_a_fetch_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.md").write_text("a")
    commit(repository)
    source = GitSource(f"git+file://{repository}", make_options(tmp_path / "kept"))
    names = [item.name for item in source.list_objects()]
    packs = tmp_path / "kept" / "mirror.git" / "objects"
    # A repository that cannot be read is no reason to fetch all of it again.
    repository.rename(tmp_path / "away")
    with pytest.raises(SourceUnavailable):
        list(source.list_objects())
    (tmp_path / "away").rename(repository)
    (packs / "mark").touch()
    assert [item.name for item in source.list_objects()] == names
    assert (packs / "mark").exists()
    with monkeypatch.context() as patch:
        patch.setattr("fathom.ingest.sources.git.SECONDS", 0)
        patch.setattr(GitSource, "_pin_host", lambda _: ())
        with pytest.raises(SourceUnavailable, match="took longer than 0 s"):
            list(source.list_objects())
    assert [item.name for item in source.list_objects()] == names
    assert not (packs / "mark").exists()


def test_a_password_reaches_git_by_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "git"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    options = make_options(tmp_path / "kept")
    secret = SourceOptions(
        name="a",
        folder=options.folder,
        file_filter=options.file_filter,
        most_bytes=1,
        user="ana",
        password="canary-5d1f-secret",
    )
    list(GitSource("git+https://example.org/a", secret).list_objects())
    arguments = (tmp_path / "arguments").read_text()
    assert "credential.helper" in arguments
    assert "canary" not in arguments


def test_a_password_opens_a_repository_and_is_in_no_file_or_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_server(ServedGitWorld(tmp_path / "docs"), monkeypatch) as world:
        world.write({"a.md": "# Fees\n\nA mooring permit costs 40 crowns a year.\n"})
        with make_engine(tmp_path / "index") as engine:
            engine.sources.add(world.url, name="world", **world.options)
            assert engine.sources.sync("world").ingested.new == 1
            monkeypatch.setenv("SOURCE_WORLD_PASSWORD", f"{PASSWORD}-wrong")
            fault = engine.sources.sync("world").fault
    assert "Authentication failed" in fault
    assert PASSWORD not in fault
    files = [file for file in (tmp_path / "index").rglob("*") if file.is_file()]
    assert not [file for file in files if PASSWORD.encode() in file.read_bytes()]
    assert (tmp_path / "index" / "sources").stat().st_mode & 0o077 == 0


def test_a_redirection_of_a_repository_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_server(ServedGitWorld(tmp_path / "docs"), monkeypatch) as world:
        options = make_options(tmp_path / "kept", **world.options)
        source = GitSource(world.url.replace("/docs/", "/moved/docs/"), options)
        with pytest.raises(SourceUnavailable, match="302"):
            list(source.list_objects())


def test_a_repository_inside_must_be_allowed_by_name(
    tmp_path: Path, count_probes: Callable[[int], None]
) -> None:
    network = WayOut(resolve=resolve_host)
    for target in TARGETS:
        if target.startswith("http") and "@" not in target and target.isprintable():
            count_probes(1)
            url = f"git+{target.format(port=9)}a"
            source = GitSource(url, make_options(tmp_path / "kept"), network)
            with pytest.raises(SourceUnavailable, match=r"not public; .* --allow-private"):
                list(source.list_objects())


def test_git_connects_to_the_checked_address_of_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.ingest.sources.fetch.is_public", lambda one: one == "127.0.0.1")
    addresses = ["127.0.0.1"]
    network = WayOut(resolve=lambda _host, _port: addresses)
    with open_server(ServedGitWorld(tmp_path / "docs"), monkeypatch) as world:
        world.write({"a.md": "# A\n"})
        options = make_options(tmp_path / "kept", user=USER, password=PASSWORD)
        url = world.url.replace("127.0.0.1", "git.example")
        source = GitSource(url, options, network)
        assert [item.name for item in source.list_objects()] == ["a.md"]
        addresses[:] = ["127.0.0.1", "127.0.0.2"]
        with pytest.raises(SourceUnavailable, match=r"git\.example has an address that is not"):
            list(source.list_objects())


def test_the_configuration_of_git_may_name_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    network = WayOut(resolve=resolve_host)
    for setting, message in (
        ('[url "http://private.example/"]\n  insteadOf = https://public.example/', "private.exam"),
        ("[http]\n  proxy = http://127.0.0.1:9", "Failed to connect"),
    ):
        (home / ".gitconfig").write_text(setting)
        options = make_options(tmp_path / "kept")
        source = GitSource("git+https://public.example/a", options, network)
        with pytest.raises(SourceUnavailable, match=message):
            list(source.list_objects())
