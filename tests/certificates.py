"""Certificates for servers of tests."""

from pathlib import Path

import trustme


def make_certificate(path: Path) -> Path:
    """Write a key, its certificate for 127.0.0.1 and that of its authority to one file."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", "localhost")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(path))
    authority.cert_pem.write_to_path(str(path), append=True)
    return path
