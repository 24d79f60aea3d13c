"""The addresses where servers listen: `fathom.serving.sockets`."""

import socket

import pytest

from fathom.errors import UsageError
from fathom.serving.sockets import listen


def test_listening_at_all_addresses_of_ipv6_includes_ipv4() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("needs a machine with IPv6")
    with listen("::", 0) as opened:
        port = opened.getsockname()[1]
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port), timeout=10):
                opened.accept()[0].close()


def test_a_used_address_is_refused_and_named_once() -> None:
    with listen("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        with pytest.raises(UsageError) as refused:
            listen("127.0.0.1", port)
    assert str(refused.value) == (
        f"cannot listen at 127.0.0.1:{port}: Address already in use; "
        "choose another with --host and --port"
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_accepted_connections_send_each_write_at_once(host: str) -> None:
    if host == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("needs a machine with IPv6")
    with listen(host, 0) as opened:
        address = (host, opened.getsockname()[1])
        with socket.create_connection(address, timeout=10), opened.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
