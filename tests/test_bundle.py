"""The bundle for clients of the Model Context Protocol, and the entry for their registry."""

import asyncio
import json
import os
import sys
import zipfile
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.serving.test_mcp import get_data

from fathom import __version__
from fathom.serving.mcp import TOOLS

ROOT = Path(__file__).parent.parent
BUNDLE = run_path(str(ROOT / "deploy" / "bundle.py"))


def make_bundle(folder: Path) -> Path:
    """Return a bundle, unpacked, with an empty file in place of the wheel."""
    wheel = folder / "fathom_qa-0.0.0-py3-none-any.whl"
    wheel.write_bytes(b"")
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(BUNDLE["write_bundle"](wheel, folder)) as archive:
        archive.extractall(unpacked)
    return unpacked


def test_a_bundle_holds_what_its_manifest_names(tmp_path: Path) -> None:
    unpacked = make_bundle(tmp_path)
    manifest: dict[str, Any] = json.loads((unpacked / "manifest.json").read_text())
    assert manifest["version"] == __version__
    assert [tool["name"] for tool in manifest["tools"]] == list(TOOLS)
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    assert "${user_config.folder}" in manifest["server"]["mcp_config"]["args"]
    assert 'path = "fathom_qa-0.0.0-py3-none-any.whl"' in (unpacked / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("name", "exists", "message"),
    [
        (f"fathom_qa-{__version__}-py3-none-any.whl", False, "no such file"),
        ("fathom_qa-0.0.0-py3-none-any.whl", True, f"not the wheel of version {__version__}"),
    ],
)
def test_a_wheel_that_is_missing_or_of_another_version_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    exists: bool,
    message: str,
) -> None:
    if exists:
        (tmp_path / name).write_bytes(b"")
    bundles = tmp_path / "bundles"
    monkeypatch.setattr(sys, "argv", ["bundle.py", str(tmp_path / name), str(bundles)])
    with pytest.raises(SystemExit, match="2"):
        BUNDLE["main"]()
    assert message in capsys.readouterr().err
    assert not bundles.exists()


def test_the_server_of_a_bundle_answers_from_a_folder(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(make_bundle(tmp_path) / "server.py"), str(documents)],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )

    async def search() -> list[Any]:
        async with Client(stdio_client(parameters)) as client:
            while True:
                reply = await client.call_tool("search", {"query": "mooring permit"})
                if not reply.is_error:
                    (output,) = get_data(reply)["searches"]
                    return list(output["hits"])
                await asyncio.sleep(0.2)

    hits = asyncio.run(asyncio.wait_for(search(), 60))
    assert hits[0]["at"].endswith("fees.md:3")


def test_the_entry_for_the_registry_is_of_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    (package,) = entry["packages"]
    assert {entry["version"], package["version"]} == {__version__}
    assert package["runtimeArguments"][0]["value"] == f"fathom-qa[mcp]=={__version__}"
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text()
