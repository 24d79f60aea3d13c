import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.serving.http.workspaces import Workspaces


def test_a_temporarily_unreadable_folder_ends_no_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spaces = Workspaces(Engine(parse_settings({"index.directory": str(tmp_path), "offline": True})))

    def fail() -> Sequence[str]:
        raise PermissionError(13, "Permission denied", "keys")

    with caplog.at_level(logging.WARNING):
        spaces.resume(fail)
    spaces.close()
    assert "the open jobs cannot be resumed: [Errno 13] Permission denied: 'keys'" in caplog.text
