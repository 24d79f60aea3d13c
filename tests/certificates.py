"""Certificates for servers of tests."""

import subprocess
from pathlib import Path

import pytest


def make_certificate(path: Path) -> Path:
    """Make a key with a certificate for 127.0.0.1 that signs itself."""
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost "
        f"-addext subjectAltName=IP:127.0.0.1 -keyout {path} -out {path}.crt"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path
