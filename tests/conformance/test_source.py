"""All kinds of sources pass the conformance suite of sources, each with a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.source_worlds import (
    BucketWorld,
    FolderWorld,
    GitWorld,
    ImapWorld,
    MailboxWorld,
    ServedGitWorld,
    ServerWorld,
    make_sftp_world,
    make_site_world,
    make_webdav_world,
    open_server,
)

from fathom.testing import (
    SidecarChangeConformance,
    SidecarConformance,
    SidecarSecrecyConformance,
    SourceChangeConformance,
    SourceConformance,
)


class TestFolder(SourceConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> FolderWorld:
        return FolderWorld(tmp_path / "docs")


class TestFolderSidecars(SidecarSecrecyConformance):
    STOPS = (3, 6, 9)

    @pytest.fixture
    def world(self, tmp_path: Path) -> FolderWorld:
        return FolderWorld(tmp_path / "docs")


class GitPlace:
    @pytest.fixture
    def world(self, tmp_path: Path) -> GitWorld:
        return GitWorld(tmp_path / "docs")


class TestGit(GitPlace, SourceConformance): ...


class TestGitSidecars(GitPlace, SidecarConformance): ...


class MailboxPlace:
    @pytest.fixture
    def world(self, tmp_path: Path) -> MailboxWorld:
        return MailboxWorld(tmp_path / "docs")


class TestMailboxChanges(MailboxPlace, SourceChangeConformance): ...


class ServedGitPlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        with open_server(ServedGitWorld(tmp_path / "docs"), monkeypatch) as world:
            yield world


class TestServedGitChanges(ServedGitPlace, SourceChangeConformance): ...


class BucketPlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        pytest.importorskip("moto", reason="moto, the S3 server of the tests, is not installed")
        pytest.importorskip("s3fs", reason="the extra sources is not installed")
        world = BucketWorld(tmp_path / "docs")
        monkeypatch.setenv("AWS_ENDPOINT_URL", world.endpoint)
        with open_server(world, monkeypatch):
            yield world


class ImapPlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        pytest.importorskip("pymap", reason="pymap, the mail server of the tests, is missing")
        pytest.importorskip("imapclient", reason="the extra sources is not installed")
        certificate = make_certificate(tmp_path / "server.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with open_server(ImapWorld(tmp_path / "docs", certificate), monkeypatch) as world:
            yield world


class WebdavPlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        pytest.importorskip("wsgidav", reason="wsgidav, the server of the tests, is not installed")
        pytest.importorskip("webdav4", reason="the extra sources is not installed")
        with open_server(make_webdav_world(tmp_path / "docs"), monkeypatch) as world:
            yield world


class SftpPlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        pytest.importorskip("sshfs", reason="the extra sources is not installed")
        home = tmp_path / "home"
        monkeypatch.setenv("HOME", str(home))
        with open_server(make_sftp_world(tmp_path / "docs", home), monkeypatch) as world:
            yield world


class SitePlace:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
        pytest.importorskip("protego", reason="the extra sources is not installed")
        with open_server(make_site_world(tmp_path / "docs"), monkeypatch) as world:
            yield world


class TestSiteChanges(SitePlace, SourceChangeConformance): ...


class TestImapChanges(ImapPlace, SourceChangeConformance): ...


class TestBucketChanges(BucketPlace, SourceChangeConformance): ...


class TestWebdavChanges(WebdavPlace, SourceChangeConformance): ...


class TestSftpChanges(SftpPlace, SourceChangeConformance): ...


class TestBucketSidecarChanges(BucketPlace, SidecarChangeConformance): ...


class TestWebdavSidecarChanges(WebdavPlace, SidecarChangeConformance): ...


class TestSftpSidecarChanges(SftpPlace, SidecarChangeConformance): ...


@pytest.mark.slow
class TestMailbox(MailboxPlace, SourceConformance): ...


@pytest.mark.slow
class TestServedGit(ServedGitPlace, SourceConformance): ...


@pytest.mark.slow
class TestSite(SitePlace, SourceConformance): ...


@pytest.mark.slow
class TestImap(ImapPlace, SourceConformance): ...


@pytest.mark.slow
class TestBucket(BucketPlace, SourceConformance): ...


@pytest.mark.slow
class TestWebdav(WebdavPlace, SourceConformance): ...


@pytest.mark.slow
class TestSftp(SftpPlace, SourceConformance): ...


@pytest.mark.slow
class TestServedGitSidecars(ServedGitPlace, SidecarConformance): ...


@pytest.mark.slow
class TestBucketSidecars(BucketPlace, SidecarConformance): ...


@pytest.mark.slow
class TestWebdavSidecars(WebdavPlace, SidecarConformance): ...


@pytest.mark.slow
class TestSftpSidecars(SftpPlace, SidecarConformance): ...
