"""The example tasks in C run within a drive, over objects of its volume: they do what their twins do."""

from pathlib import Path

import pytest
from test_cc import EXAMPLES, TASKS, compiles, twin_of

import bitline
from bitline import Drive
from bitline.cc import compile_task

pytestmark = pytest.mark.skipif(
    not hasattr(bitline.Drive, "tasks"), reason="SKIPPED: drives of this build run no tasks"
)


@compiles
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_do_what_their_twins_do(drive: Drive, example: str, tmp_path: Path) -> None:
    twin = twin_of(example)
    files, arguments = twin.case(20_000, 5)
    for name, (data, _) in files.items():
        drive.volume[name] = data
    made = compile_task([TASKS / f"{example}.c"], tmp_path / "task.wasm")
    result = drive.tasks.run(made.path, {name: mode for name, (_, mode) in files.items()}, arguments)
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
