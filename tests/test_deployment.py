"""The promises of the container image, the compose file and the system service.

Nothing here builds an image: there is a check of each file, and the commands in them are run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from fathom.config import Layers
from fathom.serving.cli.app import app

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
UNIT = ROOT / "deploy" / "fathom.service"
FINAL = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :].replace("\\\n", " ")


def read_instructions(name: str) -> list[str]:
    """Return the arguments of this instruction in the last stage of the image."""
    return re.findall(rf"^{name} +(.*)$", FINAL, re.MULTILINE)


def check_arguments(arguments: list[str]) -> None:
    """Fail unless the command line accepts these arguments."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(command.name, arguments)


def find_tool(name: str) -> str:
    program = shutil.which(
        name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def test_the_linter_accepts_the_image() -> None:
    done = subprocess.run(
        [find_tool("hadolint"), ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_image_starts_the_server_as_an_unprivileged_user() -> None:
    (user,) = read_instructions("USER")
    assert all(int(number) >= 10_000 for number in user.split(":"))
    assert json.loads(read_instructions("ENTRYPOINT")[0]) == ["fathom"]
    check_arguments(json.loads(read_instructions("CMD")[0]))
    assert read_instructions("VOLUME") == ["/data"]
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", base) for base in bases)


def test_the_image_copies_existing_files_and_no_index_or_key() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    assert sources == let_in
    assert all((ROOT / source).exists() for source in sources)
    extras = re.search(r'install "\.\[(.*?)\]"', DOCKERFILE)
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])


def test_the_variables_of_the_image_are_settings() -> None:
    variables = dict(re.findall(r"(FATHOM_\w+)=(\S+)", FINAL))
    named = COMPOSE["services"]["fathom"]["environment"]
    assert variables
    for environment in (variables, {**variables, **named}):
        settings = Layers.load(cwd=Path("/"), environment=environment).build_settings()
        assert settings.index.directory == Path("/data/index")


def test_no_service_has_more_rights_than_it_needs() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert "privileged" not in service, name
        assert not any("docker.sock" in volume for volume in service["volumes"]), name
        assert "build" in service or not service["image"].endswith((":latest", ":main")), name
    fathom = COMPOSE["services"]["fathom"]
    assert fathom["read_only"] is True
    assert [mount.partition(":")[0] for mount in fathom["tmpfs"]] == ["/tmp"]
    assert fathom["user"] == read_instructions("USER")[0]


def test_the_chat_waits_for_the_server_and_gets_its_key_from_a_secret() -> None:
    chat = COMPOSE["services"]["open-webui"]
    assert chat["depends_on"]["fathom"]["condition"] == "service_healthy"
    (secret,) = chat["secrets"]
    assert f"/run/secrets/{secret}" in chat["entrypoint"][-1]
    assert COMPOSE["secrets"][secret]["file"] == "./fathom_key.txt"
    assert chat["environment"]["OPENAI_API_BASE_URL"].startswith("http://fathom:8000/")
    assert not any("KEY" in name for name in chat["environment"])
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8")
    assert "fathom_key.txt" in ignored


def build_health_check(port: int) -> list[str]:
    line = FINAL[FINAL.index("HEALTHCHECK") :]
    hits = re.search(r"CMD (\[.*?\])\n", line)
    assert hits is not None
    program: list[str] = json.loads(hits[1])
    assert program[0] == "python"
    return [sys.executable, *(argument.replace(":8000/", f":{port}/") for argument in program[1:])]


def test_the_health_check_distinguishes_a_healthy_server(
    tmp_path: Path,
) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment |= {"FATHOM_INDEX__DIRECTORY": str(tmp_path / "index")}
    server = subprocess.Popen(
        [sys.executable, "-m", "fathom", "serve", "--port", "0"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        hits = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert hits is not None, line
        check = build_health_check(int(hits[1]))
        assert subprocess.run(check, timeout=60, check=False, env=environment).returncode == 0
    finally:
        server.terminate()
        server.communicate(timeout=60)
    dead = subprocess.run(check, timeout=60, check=False, env=environment, capture_output=True)
    assert dead.returncode != 0


def read_unit() -> dict[str, list[str]]:
    """Return the lines of the systemd unit by name."""
    lines: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            lines.setdefault(name, []).append(value)
    return lines


def test_the_service_starts_the_server_with_existing_settings() -> None:
    (start,) = read_unit()["ExecStart"]
    program, *arguments = start.split()
    assert program == "/opt/fathom/bin/fathom"
    check_arguments(arguments)
    variables = dict(word.split("=", 1) for word in read_unit()["Environment"][0].split())
    configured: dict[str, Any] = {k: v for k, v in variables.items() if k.startswith("FATHOM_")}
    settings = Layers.load(cwd=Path("/"), environment=configured).build_settings()
    assert settings.index.directory == Path("%S/fathom/index")
    assert read_unit()["StateDirectory"] == ["fathom"]


def test_systemd_accepts_the_service_and_rates_it_safe(tmp_path: Path) -> None:
    analyze = find_tool("systemd-analyze")
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    copy.write_text(text.replace("/opt/fathom/bin/fathom", sys.executable))
    verified = subprocess.run(
        [analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=20", "--no-pager", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout[-200:]
    # What the process that reads documents does to itself must not be forbidden.
    assert read_unit()["RestrictNamespaces"] == ["user net"]
    assert any(
        "unshare" in line and "setrlimit" in line for line in read_unit()["SystemCallFilter"]
    )


READ_ONLY = """
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind /tmp /tmp
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
mount -o remount,bind,ro /
! touch "$2/written" 2>/dev/null
cd "$1"
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$3" -c "$4"
"""
USED = """
import subprocess, sys
fathom = [sys.executable, "-m", "fathom"]
subprocess.run([*fathom, "ingest", "../corpus"], check=True)
subprocess.run([*fathom, "ask", "How much does a mooring permit cost?"], check=True)
"""


def test_the_server_works_where_only_its_index_and_tmp_are_writable(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make the file system read-only for a process")
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        pytest.skip("no mount namespaces here")
    data, corpus = tmp_path / "data", tmp_path / "corpus"
    data.mkdir()
    corpus.mkdir()
    (corpus / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    done = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-ec", READ_ONLY, "sh"),
            *(data, ROOT, sys.executable, USED),
        ],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/tmp",
            "FATHOM_INDEX__DIRECTORY": str(data / "i"),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 new" in done.stdout
    assert "40 crowns" in done.stdout
    assert not (ROOT / "written").exists()
