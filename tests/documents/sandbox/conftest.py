"""The tests of the sandbox start their own processes."""

import pytest

from fathom.documents.sandbox import parent
from fathom.documents.sandbox.parent import ReadingProcess


@pytest.fixture(autouse=True)
def _start_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent, "ReadingProcess", ReadingProcess)
