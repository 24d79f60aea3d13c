"""Print the oldest versions of the packages that the base install allows, for pip."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def list_oldest(project: Path = PROJECT) -> list[str]:
    """Return a pin for each requirement: the series of its lower bound."""
    requirements = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    return [pin_oldest(Requirement(requirement)) for requirement in requirements]


def pin_oldest(requirement: Requirement) -> str:
    """Return the pin for the series of a requirement's lower bound: `>=2.19,<2.24` is `==2.19.*`.

    Raises:
        ValueError: If the requirement has no lower bound.
    """
    bounds = [part.version for part in requirement.specifier if part.operator == ">="]
    if not bounds:
        raise ValueError(f"{requirement} has no lower bound; add >= with the oldest that is tested")
    return f"{requirement.name}=={bounds[0]}.*"


if __name__ == "__main__":
    print("\n".join(list_oldest()))  # noqa: T201 - its purpose
