"""The base class of the tables of settings, and constants: fields that users cannot set."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticUndefined

Share = Annotated[float, Field(ge=0, le=1)]
"""A share, in [0, 1]."""
_CONSTANT = "constant"
"""The key of the JSON schema of a field that marks a constant; its value is the advice."""


def constant(default: Any = PydanticUndefined, *, advice: str = "", **limits: Any) -> Any:  # noqa: ANN401 - as pydantic.Field
    """Declare a constant: a field that experiments vary and users cannot set.

    Numbers of a paper or of a measurement are constants.

    Args:
        default: The value.
        advice: The setting to use instead, as "set a.b"; empty if there is none.
        limits: Further arguments of `pydantic.Field`, such as `ge` and `le`.
    """
    return Field(default, json_schema_extra={_CONSTANT: advice}, **limits)


class Section(BaseModel):
    """A frozen table of settings.

    It refuses unknown keys, numbers that are not finite, and booleans in place of numbers.
    """

    # Validators are built with the first table of a class, because an import needs none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    _RECORDED: ClassVar[frozenset[str] | None] = None
    """The keys that can change an answer, and so are recorded in traces; `None` for all keys."""
    PAGE: ClassVar[str] = ""
    """The page of the documentation that explains the constants of the table."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_boolean_number(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - whatever is validated
        """Return a value as it is; refuse a boolean for a number, which pydantic takes for 1 or 0.

        Raises:
            ValueError: If the value is a boolean, or a list with one, and the field takes numbers.
        """
        items = value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(item, bool) for item in items):
            kinds = set(_iterate_kinds(cls.model_fields[str(info.field_name)].annotation))
            if kinds & {int, float} and bool not in kinds:
                raise ValueError("expected a number instead of true or false")
        return value

    def to_record(self) -> dict[str, Any]:
        """Return the values that a trace records, as JSON; empty if none changes answers."""
        values = self.model_dump(mode="json")
        keys = self._RECORDED
        return {key: value for key, value in values.items() if keys is None or key in keys}

    @classmethod
    def is_constant(cls, name: str) -> bool:
        """Return whether a field is a constant, which users cannot set."""
        extra = cls.model_fields[name].json_schema_extra
        return isinstance(extra, dict) and _CONSTANT in extra

    @classmethod
    def describe_constant(cls, name: str, table: str) -> str:
        """Return the message that refuses a constant in a user's settings; empty for a setting.

        Args:
            name: The name of the field.
            table: The dotted name of this table; empty for the root.
        """
        field = cls.model_fields[name]
        if not cls.is_constant(name) or not isinstance(field.json_schema_extra, dict):
            return ""
        advice = str(field.json_schema_extra[_CONSTANT])
        page = (_get_table(field.annotation) or cls).PAGE
        owner = f" of {table}" if table else ""
        return f"a constant{owner}, which only experiments vary: {page}; {advice or 'leave it out'}"


SectionT = TypeVar("SectionT", bound=Section)


class FileTable(Section):
    """A table of files, which users set by a folder: the file `NAME.txt` in it is the field `NAME`.

    The fields are constants for users; traces record each of them.
    """

    @model_validator(mode="before")
    @classmethod
    def _list_files(cls, values: Any) -> Any:  # noqa: ANN401 - whatever is validated
        """Return the files by field if the value is the path of a folder; else the value."""
        if not isinstance(values, str) or not values:
            return values or {}
        folder = Path(values)
        if not folder.is_dir():
            raise ValueError("expected a folder with a file NAME.txt for each text to replace")
        files = {file.stem: str(file) for file in sorted(folder.glob("*.txt"))}
        # A file with a wrong name would have no effect, without a message.
        if unknown := sorted(files.keys() - cls.model_fields.keys()):
            raise ValueError(
                f"{unknown[0]}.txt replaces nothing; the names are {', '.join(cls.model_fields)}"
            )
        return files

    @classmethod
    def describe_constant(cls, name: str, table: str) -> str:
        """Return the message that refuses the key of one file and names the folder's setting."""
        return f"a file in the folder {table}: put it at DIR/{name}.txt and set {table} = DIR"


def add_fields(
    fields: Mapping[str, tuple[Any, Any]],
) -> Callable[[type[SectionT]], type[SectionT]]:
    """Return a decorator that adds fields to a class of tables.

    Args:
        fields: The type and the `pydantic.Field` of each field, by name.
    """

    def extend(kind: type[SectionT]) -> type[SectionT]:
        return create_model(  # type: ignore[call-overload, no-any-return]
            kind.__name__, __base__=kind, __module__=kind.__module__, __doc__=kind.__doc__, **fields
        )

    return extend


def iterate_keys(
    kind: type[Section], table: str = "", refusal: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield each dotted key of a table, in order, with the message that refuses it to a user.

    The message is empty for a setting; any other key is a constant. Keys of extensions are left
    out.

    Args:
        kind: The class of the table.
        table: The dotted name of the table; empty for the root.
        refusal: The message for the whole table, if it is a constant.
    """
    for name, field in kind.model_fields.items():
        key = f"{table}.{name}".lstrip(".")
        words = refusal or kind.describe_constant(name, table)
        inner = _get_table(field.annotation)
        is_value = inner is None or issubclass(inner, FileTable)
        # The tables of extensions check their own keys.
        if is_value and get_origin(field.annotation) is not Mapping:
            yield key, words
        if inner is not None:
            yield from iterate_keys(inner, key, words)


def find_first_fault(error: ValidationError) -> tuple[str, object, str]:
    """Return the first fault in a validation error: its dotted key, the value, and the message."""
    first = error.errors()[0]
    # pydantic puts this prefix before messages of our own validators.
    message = first["msg"].removeprefix("Value error, ")
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    return key, first["input"], message[:1].lower() + message[1:]


def _get_table(annotation: Any) -> type[Section] | None:  # noqa: ANN401 - of a field
    """Return the class of a field that is a table; `None` for any other field."""
    is_table = isinstance(annotation, type) and issubclass(annotation, Section)
    return annotation if is_table else None


def _iterate_kinds(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - of a field
    """Yield an annotation and all types that it is made of, such as `int` and those of a union."""
    yield annotation
    for part in get_args(annotation):
        yield from _iterate_kinds(part)
