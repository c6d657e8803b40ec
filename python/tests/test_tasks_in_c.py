"""The example tasks in C run within a drive, over objects of its volume: they do what their twins do."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_cc import EXAMPLES, TASKS, compiles, twin_of

import bitline
from bitline import Drive
from bitline.cc import compile_task

pytestmark = pytest.mark.skipif(
    not hasattr(bitline.Drive, "tasks"), reason="SKIPPED: drives of this build run no tasks"
)


#: TxISC, FileISC, BlockISC and host-only (TxISC, section V).
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "snapshot": {"isolation": "snapshot"},
    "file": {"isolation": "file"},
    "block": {"isolation": "block"},
    "host": {"where": "host"},
}


@compiles
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_do_what_their_twins_do(
    drive: Drive, example: str, architecture: str, tmp_path: Path
) -> None:
    twin = twin_of(example)
    files, arguments = twin.case(20_000, 5)
    for name, (data, _) in files.items():
        drive.volume[name] = data
    made = compile_task([TASKS / f"{example}.c"], tmp_path / "task.wasm")
    modes = {name: mode for name, (_, mode) in files.items()}
    result = drive.tasks.run(made.path, modes, arguments, **ARCHITECTURES[architecture])
    assert (result.status, result.log) == ("committed", ""), result.reason
    assert result.cycles > 0
    left = {name: drive.volume[name] for name in files}
    if hasattr(twin, "check"):
        twin.check(result.value, left, files, arguments)
        return
    value, written = twin.twin(files, arguments)
    assert getattr(twin, "same", bytes.__eq__)(result.value, value)
    assert left == {name: written.get(name, before) for name, (before, _) in files.items()}


@compiles
def test_what_fails_is_rolled_back(drive: Drive, tmp_path: Path) -> None:
    source = tmp_path / "task.c"
    source.write_text(
        "#include <bitline/isc.h>\n"
        'int isc_task(void) { isc_file_write(0, "new", 3); isc_log("%d file", isc_file_count());\n'
        "return 7; }\n"
    )
    drive.volume["file"] = b"old"
    result = drive.tasks.run(compile_task([source], tmp_path / "task.wasm").path, {"file": "rw"})
    assert (result.status, result.code, result.log) == ("failed", 7, "1 file\n")
    assert drive.volume["file"] == b"old"


#: As `crates/isc/examples/names.rs`.
NAMES = """
#include <bitline/isc.h>

int isc_task(void) {
  struct { uint32_t year, number; char key[300]; } asked;
  size_t bytes = isc_get_args(&asked, sizeof asked);
  if (bytes < 8) return ISC_EINVAL;
  char row[16], value[100];
  isc_name name = {0};
  isc_name_add(&name, asked.year - 1000, 12), isc_name_add(&name, 1, 1);
  isc_name_add(&name, asked.number, 32);
  int64_t got = isc_look_up_row(0, &name, row, sizeof row);
  if (got < 0) return (int)-got;
  uint32_t length = (uint32_t)got;
  isc_put_ret(&length, sizeof length), isc_put_ret(row, length < sizeof row ? length : sizeof row);
  got = isc_look_up_key(1, 29, asked.key, bytes - 8, value, sizeof value);
  return got < 0 ? (int)-got : isc_put_ret(value, (size_t)got);
}
"""


def check_names(module: Path) -> None:
    """Holds a task that looks names up against a table and a mapping that have them."""
    drive = bitline.open()
    fields = [
        pa.field("born", pa.int16(), False),
        pa.field("number", pa.uint32()),
        pa.field("cents", pa.int64()),
    ]
    rows = [(1000 + 13 * at, None if at % 5 == 4 else 3_000_000_000 + at, -at) for at in range(200)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    people = pa.table(columns, schema=pa.schema(fields))
    drive.search.table("people", people, indexes=["cents", ("born", "number")], ranges={"born": (1000, 5095)})
    notes = drive.search.key_value("notes")
    notes.update(
        {b"": b"of nobody", b"ada": b"", b"a key of twenty-nine letters!": b"long", b"grace": bytes(100)}
    )
    notes[b"two entries"] = bytes(300)

    def asked(year: int, number: int, key: bytes) -> tuple[int, bytes]:
        arguments = struct.pack("<II", year, number) + key
        done = drive.tasks.run(module, args=arguments, stores=["people/1", "notes"])
        assert done.status in ("committed", "failed"), done.reason
        return done.code, done.value

    for at, key in [(0, b""), (3, b"ada"), (17, b"a key of twenty-nine letters!"), (198, b"grace")]:
        born, number, cents = rows[at]
        assert number is not None
        row = struct.pack("<BhIq", 3, born, number, cents)
        assert asked(born, number, key) == (0, struct.pack("<I", len(row)) + row + notes[key])
    assert asked(1000, 3_000_000_001, b"")[0] == 2, "another row has the number"
    assert asked(1000 + 13 * 4, 0, b"")[0] == 2, "a null"
    assert asked(1000, 3_000_000_000, b"nobody")[0] == 2
    assert asked(1000, 3_000_000_000, b"two entries")[0] == 27
    assert asked(1000, 3_000_000_000, b"a key of more than 29 letters!")[0] == 27


@compiles
def test_names_are_looked_up(tmp_path: Path) -> None:
    source = tmp_path / "names.c"
    source.write_text(NAMES)
    check_names(compile_task([source], tmp_path / "names.wasm").path)
