"""Parts of engines that all tests share."""

import dis

import pytest
from tests.kept_parts import keep_parts

from fathom.domains import domain
from fathom.domains.domain import load_domain
from fathom.errors import SettingsError


def test_code_is_disassembled_as_before() -> None:
    before = dis.get_instructions
    first, moved = [*before(load_domain)], [*before(load_domain, first_line=1)]
    with keep_parts():
        for _ in range(2):
            assert [*dis.get_instructions(load_domain)] == first
            assert [*dis.get_instructions(load_domain, first_line=1)] == moved
        assert next(dis.get_instructions(load_domain)) is next(dis.get_instructions(load_domain))


def test_a_domain_is_parsed_once_and_a_faulty_one_each_time() -> None:
    with keep_parts():
        assert load_domain("finance") is load_domain("finance")
        for _ in range(2):
            with pytest.raises(SettingsError):
                domain._parse_domain("", "empty.toml")
