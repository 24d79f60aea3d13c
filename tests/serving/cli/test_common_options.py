"""Every command takes the common options, or refuses them in one plain line."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401

from fathom.serving.cli.app import app

OPTIONS = ("--index", "--json", "--offline")
REFUSED = {
    "serve": {"--json"},
    "mcp": {"--json"},
    "skill": {"--index", "--json", "--offline"},
    "copy": {"--index"},
    "config prompts": {"--index"},
    "models list": {"--index", "--offline"},
    "models pull": {"--index"},
    "models remove": {"--index", "--offline"},
    "models recommend": {"--index", "--offline"},
    "keys add": {"--offline"},
    "keys list": {"--offline"},
    "keys revoke": {"--json", "--offline"},
    "keys open": {"--json", "--offline"},
}
"""The common options that a command has no use for."""


def iterate_commands(command: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each command with its options."""
    children = getattr(command, "commands", None)
    if children is None:
        yield name, {option for param in command.params for option in param.opts}
    for child, below in (children or {}).items():
        yield from iterate_commands(below, f"{name} {child}".strip())


COMMANDS = dict(iterate_commands(typer.main.get_command(app)))


def test_the_table_of_refused_options_is_that_of_the_commands() -> None:
    refused = {name: missing for name, taken in COMMANDS.items() if (missing := {*OPTIONS} - taken)}
    assert refused == REFUSED


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, refused in REFUSED.items() for option in sorted(refused)],
)
def test_an_option_without_a_use_is_refused_in_one_line(
    run: CommandRunner,  # noqa: F811
    command: str,
    option: str,
) -> None:
    ran = run(*command.split(), option)
    assert ran.code == 2
    assert option in ran.err
    assert ran.err.count("\n") == 1
