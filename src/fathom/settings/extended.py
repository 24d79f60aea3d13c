"""The tables `[extensions.NAME]`: settings of what other packages add, and what they may hold."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from fathom.errors import SettingsError
from fathom.settings.section import Section, first_fault

SectionT = TypeVar("SectionT", bound=Section)


class ExtendedSettings:
    """Checks what was given when it is asked for, and remembers it for traces."""

    def __init__(self, given: Mapping[str, Mapping[str, Any]]) -> None:
        """`given` by name of the extension."""
        self._given = given
        self._sections: dict[str, Section] = {}

    def section(self, name: str, kind: type[SectionT]) -> SectionT:
        """See `Assembly.section`."""
        try:
            section = kind.model_validate(self._given.get(name, {}))
        except ValidationError as error:
            key, value, expected = first_fault(error)
            raise SettingsError(f"extensions.{name}.{key} = {value!r}: {expected}") from None
        self._sections[name] = section
        return section

    def check_used(self, name: str) -> None:
        """Accept an extension that was made, and so has asked for its settings by now.

        Raises:
            SettingsError: If it was given some and has none.
        """
        if self._given.get(name) and name not in self._sections:
            raise SettingsError(f"extensions.{name}: it has no settings; take the table out")

    def recorded(self, name: str) -> dict[str, Any]:
        """What a trace keeps of all tables: that of this extension with its defaults."""
        tables = {each: dict(table) for each, table in self._given.items()}
        if name in self._sections:
            tables[name] = self._sections[name].recorded()
        return {each: table for each, table in tables.items() if table}
