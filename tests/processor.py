"""The kind of processor that tests run on."""

from pathlib import Path

_FLAGS = frozenset({"avx512_vnni", "avx_vnni", "asimddp"})
"""The marks of processors that add products of bytes in 32 bits, of x86 and of ARM."""


def has_byte_products() -> bool:
    """Return whether the processor adds products of bytes; true where the system does not tell."""
    file = Path("/proc/cpuinfo")
    return not file.is_file() or not _FLAGS.isdisjoint(file.read_text().split())
