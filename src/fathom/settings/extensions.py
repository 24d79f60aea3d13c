"""The tables `[extensions.NAME]`: the settings of extensions, checked when they are read."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from fathom.errors import SettingsError
from fathom.settings.section import Section, find_first_fault

SectionT = TypeVar("SectionT", bound=Section)


class ExtensionSettings:
    """The tables of extensions; each is checked when it is read, and kept for traces."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Create the object; no table is checked yet.

        Args:
            tables: The tables, by name of the extension.
        """
        self._tables = tables
        self._sections: dict[str, Section] = {}

    def read_section(self, name: str, kind: type[SectionT]) -> SectionT:
        """Check the table of an extension and return it as a section.

        Args:
            name: The name of the extension.
            kind: The class of the section, with the defaults.

        Raises:
            SettingsError: If a key is unknown or a value illegal.
        """
        try:
            section = kind.model_validate(self._tables.get(name, {}))
        except ValidationError as error:
            key, value, expected = find_first_fault(error)
            raise SettingsError(f"extensions.{name}.{key} = {value!r}: {expected}") from None
        # Kept with its defaults, because a trace must record them too.
        self._sections[name] = section
        return section

    def check_use(self, name: str) -> None:
        """Check that an extension that was just built has read its table, if it has one.

        Raises:
            SettingsError: If it has a table but has read none.
        """
        if self._tables.get(name) and name not in self._sections:
            raise SettingsError(f"extensions.{name}: it has no settings; remove the table")

    def to_record(self, name: str) -> dict[str, Any]:
        """Return all tables that are not empty, for a trace; that of `name` with its defaults."""
        tables = {key: dict(table) for key, table in self._tables.items()}
        if name in self._sections:
            tables[name] = self._sections[name].to_record()
        return {key: table for key, table in tables.items() if table}
