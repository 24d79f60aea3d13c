"""A socket that a server accepts connections at."""

import socket

from fathom.errors import UsageError


def listening(host: str, port: int, *, waiting: int | None = None) -> socket.socket:
    """Listen at an address; at `::` for IPv4 too, where the machine can.

    Args:
        host: A name or an address.
        port: 0 takes any that is free.
        waiting: So many connections the kernel keeps until they are accepted.

    Raises:
        UsageError: If the address cannot be listened at.
    """
    is_six = ":" in host
    family = socket.AF_INET6 if is_six else socket.AF_INET
    both = is_six and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (host, port), family=family, backlog=waiting, dualstack_ipv6=both
        )
    except OSError as error:
        why, _, _ = (error.strerror or str(error)).partition(" (while")  # the address once more
        raise UsageError(
            f"cannot listen at {host}:{port}: {why}; choose another with --host and --port"
        ) from None
