"""`fathom serve` on the command line: options of a sign-on that is not named are refused."""

from collections.abc import Sequence

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, run  # noqa: F401 - fixture

from fathom.serving.http.sign_on_plan import SignOnPlan


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--oidc-scopes", "groups"), "--oidc is missing"),
        (("--oidc-user", "email"), "--oidc is missing"),
        (("--oidc-groups", "teams"), "--oidc is missing"),
        (("--oidc-roles", "roles"), "--oidc is missing"),
        (("--oidc-hours", "2"), "--oidc is missing"),
        (("--proxy-groups-header", "X-Groups"), "--proxy-user-header is missing"),
        (("--proxy-secret", "file"), "--proxy-user-header is missing"),
        (("--proxy-address", "127.0.0.1"), "--proxy-user-header is missing"),
    ],
)
def test_an_option_without_its_sign_on_is_refused(
    run: CommandRunner,  # noqa: F811
    arguments: Sequence[str],
    part: str,
) -> None:
    check_one_line(run("serve", *arguments), 2, part)


def test_the_help_shows_the_default_values_of_the_sign_on(
    run: CommandRunner,  # noqa: F811
) -> None:
    shown, plan = " ".join(run("serve", "--help").out.split()), SignOnPlan()
    for value in (plan.user_claim, plan.groups_claim, plan.hours):
        assert f"[default: {value}" in shown
