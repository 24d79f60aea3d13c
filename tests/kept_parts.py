"""Parts of an engine that are made once for all tests, as each engine makes them anew.

They depend on code and on texts alone: LangGraph disassembles the functions of each graph that it
compiles, and the file of a domain is parsed.
"""

import dis
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from fathom.domains import domain


@contextmanager
def keep_parts() -> Iterator[None]:
    """Let the engines of the body of a `with` statement share these parts."""
    disassemble = dis.get_instructions

    @cache
    def list_instructions(code: Any, **options: Any) -> tuple[dis.Instruction, ...]:
        return tuple(disassemble(code, **options))

    def iterate_instructions(code: Any, **options: Any) -> Iterator[dis.Instruction]:
        return iter(list_instructions(code, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dis, "get_instructions", iterate_instructions)
        patch.setattr(domain, "_parse_domain", cache(domain._parse_domain))
        yield
