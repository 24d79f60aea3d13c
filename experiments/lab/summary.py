"""What is published of an experiment: measures and tables, none of the data set's texts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from experiments.lab.plan import Experiment
from experiments.lab.provenance import Provenance
from experiments.lab.results import Results
from experiments.lab.show import shown

from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable, Sentences
from fathom.evaluation.report.svg import make_standalone
from fathom.jsonable import Json

KINDS: Mapping[str, type[ReportTable] | type[Sentences] | type[Figure]] = {
    "table": ReportTable,
    "sentences": Sentences,
    "figure": Figure,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """An experiment's outcome.

    Attributes:
        rows: All measures of every arm, as `fathom eval --json` gives them.
        seconds: Of all questions together.
        blocks: What its page shows.
    """

    id: str
    provenance: Provenance
    rows: Sequence[Mapping[str, Any]]
    seconds: float
    blocks: tuple[ReportBlock, ...]

    @classmethod
    def of(cls, seen: Results, provenance: Provenance) -> Self:
        """That of records."""
        spent = sum(record.seconds for cell in seen.cells for record in cell.records)
        return cls(
            id=seen.experiment.id,
            provenance=replace(provenance, commits=seen.commits or provenance.commits),
            rows=[
                _rounded({"set": cell.set, "corpus": cell.arm.corpus, **asdict(cell.row)})
                for cell in seen.cells
            ],
            seconds=round(spent, 1),
            blocks=tuple(shown(seen)),
        )

    def save(self, folder: Path) -> Path:
        """Write it below a folder; plots become files of their own beside the JSON."""
        file = summary_file(folder, self.id)
        file.parent.mkdir(parents=True, exist_ok=True)
        told = {
            "id": self.id,
            "provenance": asdict(self.provenance),
            "seconds": self.seconds,
            "blocks": [_as_json(block) for block in self.blocks],
            "rows": list(self.rows),
        }
        file.write_text(_lined(told) + "\n", encoding="utf-8")
        for old in file.parent.glob(f"{file.stem}-*.svg"):
            old.unlink()
        for block in self.blocks:
            if isinstance(block, Figure):
                plot = file.parent / f"{file.stem}-{block.name}.svg"
                plot.write_text(make_standalone(block.svg), encoding="utf-8")
        return file

    @classmethod
    def load(cls, folder: Path, experiment: Experiment) -> Self | None:
        """What was saved; `None` where nothing was."""
        file = summary_file(folder, experiment.id)
        if not file.is_file():
            return None
        payload = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            id=payload["id"],
            provenance=Provenance.from_json(payload["provenance"]),
            rows=payload["rows"],
            seconds=payload["seconds"],
            blocks=tuple(_block(block) for block in payload["blocks"]),
        )


def summary_file(folder: Path, name: str) -> Path:
    """Where the summary of an experiment lies."""
    return folder / f"{name}.json"


def _lined(told: Mapping[str, Any]) -> str:
    """JSON with a line for each key, and for each item of a list: small, and easy to compare."""
    lines = []
    for key, value in told.items():
        items = value if isinstance(value, list) else [value]
        text = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in items)
        lines.append(f' "{key}": ' + (f"[\n  {text}\n ]" if isinstance(value, list) else text))
    return "{\n" + ",\n".join(lines) + "\n}"


def _rounded(value: Json) -> Json:
    """The same with six digits after the point at most."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _as_json(block: ReportBlock) -> dict[str, Any]:
    kind = next(name for name, made in KINDS.items() if isinstance(block, made))
    told = {key: value for key, value in asdict(block).items() if key != "svg"}
    if isinstance(block, Figure):
        del told["title"]  # its caption says all
    return {"kind": kind, **told}


def _block(told: Mapping[str, Any]) -> ReportBlock:
    given = {key: value for key, value in told.items() if key != "kind"}
    if told["kind"] == "figure":
        return Figure(**given, svg="")
    if told["kind"] == "sentences":
        return Sentences(title=given["title"], lines=tuple(given["lines"]))
    rows = tuple(tuple(row) for row in given["rows"])
    return ReportTable(title=given["title"], head=tuple(given["head"]), rows=rows)
