"""The socket at which a server accepts connections."""

import socket

from fathom.errors import UsageError


def listen(host: str, port: int, *, backlog: int | None = None) -> socket.socket:
    """Listen at an address; at `::` also for IPv4, if the machine can.

    Args:
        host: A name or an address.
        port: 0 takes any free one.
        backlog: The number of connections that the kernel keeps until they are accepted.

    Raises:
        UsageError: If the address cannot be listened at.
    """
    is_six = ":" in host
    family = socket.AF_INET6 if is_six else socket.AF_INET
    serves_both = is_six and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (host, port), family=family, backlog=backlog, dualstack_ipv6=serves_both
        )
    except OSError as error:
        reason, _, _ = (error.strerror or str(error)).partition(
            " (while"
        )  # the text would repeat the address
        raise UsageError(
            f"cannot listen at {host}:{port}: {reason}; choose another with --host and --port"
        ) from None
