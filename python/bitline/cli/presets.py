"""`bitline presets`: the drives that come with Bitline."""

import bitline
from bitline.cli.options import Json, Wide
from bitline.cli.output import Column, Result, Table, Value, emit, size


def presets(wide: Wide = False, as_json: Json = False) -> None:
    """List the drives that come with Bitline: name, capacity, what each models."""
    columns = [
        Column("name", "Preset"),
        Column("capacity_bytes", "Capacity", size, rank=1),
        Column("description", "Description"),
    ]
    rows: list[dict[str, Value]] = []
    for name, description in bitline.presets().items():
        with bitline.open(name, data="none") as drive:
            rows.append({"name": name, "capacity_bytes": drive.capacity_bytes, "description": description})
    emit(Result("Presets", tables={"presets": Table(columns, rows)}), as_json=as_json, wide=wide)
