"""The published part of an experiment: measures and tables, none of the data set's texts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from experiments.lab.code import Code
from experiments.lab.plan import Experiment
from experiments.lab.provenance import Provenance
from experiments.lab.results import Results
from experiments.lab.show import render_blocks

from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable, Sentences
from fathom.evaluation.report.svg import make_standalone
from fathom.jsonable import Json

KINDS: Mapping[str, type[ReportTable] | type[Sentences] | type[Figure]] = {
    "table": ReportTable,
    "sentences": Sentences,
    "figure": Figure,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCode:
    """The code that some rows of a summary run through."""

    code: Code
    rows: tuple[tuple[str, str, str], ...]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Restore it from the output of `asdict`."""
        rows = tuple((row[0], row[1], row[2]) for row in stored["rows"])
        return cls(code=Code.from_json(stored["code"]), rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The outcome of an experiment.

    Attributes:
        rows: All measures of every arm, as `fathom eval --json` gives them.
        seconds: Of all questions together; `None` in a summary whose answers were not timed.
        blocks: What its page shows.
        codes: The code of its rows, where it was noted; `rows` are data set, corpus and system.
    """

    id: str
    provenance: Provenance
    rows: Sequence[Mapping[str, Any]]
    seconds: float | None
    blocks: tuple[ReportBlock, ...]
    codes: tuple[RowCode, ...] = ()

    @classmethod
    def of(cls, results: Results, provenance: Provenance) -> Self:
        """Summarize results."""
        spent = sum(record.seconds for cell in results.cells for record in cell.records)
        return cls(
            id=results.experiment.id,
            provenance=replace(provenance, commits=results.commits or provenance.commits),
            rows=[
                _round_values({"set": cell.set, "corpus": cell.arm.corpus, **asdict(cell.row)})
                for cell in results.cells
            ],
            seconds=round(spent, 1),
            blocks=tuple(render_blocks(results)),
            codes=tuple(_list_codes(results)),
        )

    def save(self, folder: Path) -> Path:
        """Write the summary below a folder, with plots as separate files beside the JSON."""
        file = locate_summary(folder, self.id)
        file.parent.mkdir(parents=True, exist_ok=True)
        fields = {
            "id": self.id,
            "provenance": asdict(self.provenance),
            "seconds": self.seconds,
            "blocks": [_serialize_block(block) for block in self.blocks],
            "rows": list(self.rows),
            "codes": [asdict(code) for code in self.codes],
        }
        file.write_text(_format_json(fields) + "\n", encoding="utf-8")
        for old in file.parent.glob(f"{file.stem}-*.svg"):
            old.unlink()
        for block in self.blocks:
            if isinstance(block, Figure):
                plot = file.parent / f"{file.stem}-{block.name}.svg"
                plot.write_text(make_standalone(block.svg), encoding="utf-8")
        return file

    @classmethod
    def load(cls, folder: Path, experiment: Experiment) -> Self | None:
        """Load the saved summary; `None` if nothing was saved."""
        file = locate_summary(folder, experiment.id)
        if not file.is_file():
            return None
        payload = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            id=payload["id"],
            provenance=Provenance.from_json(payload["provenance"]),
            rows=payload["rows"],
            seconds=payload["seconds"],
            blocks=tuple(_restore_block(block) for block in payload["blocks"]),
            codes=tuple(RowCode.from_json(code) for code in payload.get("codes", ())),
        )


def _list_codes(results: Results) -> Iterator[RowCode]:
    """Yield each code with the rows that were made by it."""
    rows: dict[Code, list[tuple[str, str, str]]] = {}
    for cell in results.cells:
        for code in cell.codes or ():
            rows.setdefault(code, []).append((cell.set, cell.arm.corpus, cell.arm.name))
    for code, made in rows.items():
        yield RowCode(code=code, rows=tuple(made))


def locate_summary(folder: Path, name: str) -> Path:
    """Return the path of the summary of an experiment."""
    return folder / f"{name}.json"


def _format_json(values: Mapping[str, Any]) -> str:
    """Format JSON with a line for each key and each item of a list: small, and easy to compare."""
    lines = []
    for key, value in values.items():
        items = value if isinstance(value, list) else [value]
        text = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in items)
        lines.append(f' "{key}": ' + (f"[\n  {text}\n ]" if isinstance(value, list) else text))
    return "{\n" + ",\n".join(lines) + "\n}"


def _round_values(value: Json) -> Json:
    """Return the value with at most six digits after the point."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: _round_values(item) for key, item in value.items()}
    return [_round_values(item) for item in value] if isinstance(value, list | tuple) else value


def _serialize_block(block: ReportBlock) -> dict[str, Any]:
    kind = next(name for name, block_class in KINDS.items() if isinstance(block, block_class))
    fields = {key: value for key, value in asdict(block).items() if key != "svg"}
    if isinstance(block, Figure):
        del fields["title"]  # its caption says all
    return {"kind": kind, **fields}


def _restore_block(stored: Mapping[str, Any]) -> ReportBlock:
    fields = {key: value for key, value in stored.items() if key != "kind"}
    if stored["kind"] == "figure":
        return Figure(**fields, svg="")
    if stored["kind"] == "sentences":
        return Sentences(title=fields["title"], lines=tuple(fields["lines"]))
    rows = tuple(tuple(row) for row in fields["rows"])
    return ReportTable(title=fields["title"], head=tuple(fields["head"]), rows=rows)
