"""The tables `[extensions.NAME]`: the settings of extensions, and the checks of their keys."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from fathom.errors import SettingsError
from fathom.settings.section import Section, find_first_fault

SectionT = TypeVar("SectionT", bound=Section)


class ExtensionSettings:
    """The tables of extensions. Each is checked when it is read, and remembered for traces."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the tables by name of the extension."""
        self._tables = tables
        self._sections: dict[str, Section] = {}

    def read_section(self, name: str, kind: type[SectionT]) -> SectionT:
        """Return the table of an extension as its section, checked.

        Raises:
            SettingsError: If the table does not fit the section.
        """
        try:
            section = kind.model_validate(self._tables.get(name, {}))
        except ValidationError as error:
            key, value, expected = find_first_fault(error)
            raise SettingsError(f"extensions.{name}.{key} = {value!r}: {expected}") from None
        # Remembered with its defaults, because a trace must hold them too.
        self._sections[name] = section
        return section

    def check_use(self, name: str) -> None:
        """Accept an extension that was made, and therefore has read its settings.

        Raises:
            SettingsError: If it was given a table but reads none.
        """
        if self._tables.get(name) and name not in self._sections:
            raise SettingsError(f"extensions.{name}: it has no settings; remove the table")

    def to_record(self, name: str) -> dict[str, Any]:
        """Return all tables for a trace, the one of this extension with its defaults."""
        tables = {key: dict(table) for key, table in self._tables.items()}
        if name in self._sections:
            tables[name] = self._sections[name].to_record()
        return {key: table for key, table in tables.items() if table}
