"""A task in Rust, with the crate in `crates/isc`, does what the one in C does."""

import shutil
import subprocess
from pathlib import Path

import pytest
from test_cc import NO_ENGINE, twin_of
from test_operators import cases, operators_in_c
from test_tasks_in_c import check_names

import bitline
from bitline import cc, wasm

CRATE = Path(__file__).parents[2] / "crates" / "isc"
TARGET = "wasm32-unknown-unknown"


def has_target() -> bool:
    """Whether this machine's Rust compiles for WebAssembly."""
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        return False
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    found = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=CRATE).stdout.strip()
    return bool(found) and any(Path(found).glob("libcore-*"))


pytestmark = pytest.mark.skipif(not has_target(), reason=f"SKIPPED: rustup target add {TARGET}")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the crate's examples, compiled."""
    folder = tmp_path_factory.mktemp("rust")
    command = ["cargo", "build", "--release", "--locked", "--target", TARGET, "--examples"]
    done = subprocess.run(
        [*command, "--target-dir", folder], capture_output=True, text=True, check=False, cwd=CRATE
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return folder / TARGET / "release" / "examples"


@pytest.fixture(scope="module")
def module(modules: Path) -> Path:
    """The checksum."""
    return modules / "checksum.wasm"


def test_a_drive_would_load_it(module: Path) -> None:
    imported = wasm.imports(module.read_bytes())
    assert {found.module for found in imported} == {cc.IMPORT_MODULE}
    assert {found.name for found in imported} <= cc.IMPORTS
    assert {*cc.EXPORTS} <= {export.name for export in wasm.exports(module.read_bytes())}


def test_the_crate_has_every_call() -> None:
    declared = (CRATE / "src" / "imports.rs").read_text().split("pub(crate) fn ")[1:]
    assert {line.partition("(")[0] for line in declared} == cc.IMPORTS


@pytest.mark.parametrize(("size", "seed"), [(0, 1), (1, 2), (300_001, 3)])
def test_it_does_what_the_twin_does(module: Path, size: int, seed: int) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    twin = twin_of("checksum")
    files, arguments = twin.case(size, seed)
    done = task_host.run(module, files, arguments)
    value, left = twin.twin(files, arguments)
    assert (done.code, done.value, done.log) == (0, value, "")
    assert {name: done.files[name] for name in left} == left


def test_its_errors_roll_it_back(module: Path) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    files = {"in": (b"text", "r"), "out": (bytes(8), "r")}
    assert task_host.run(module, files, b"no numbers").code == task_host.EINVAL
    assert task_host.run(module, files, bytes([0, 0, 0, 0, 1, 0, 0, 0])).code == task_host.EACCES


def test_it_looks_names_up(modules: Path) -> None:
    check_names(modules / "names.wasm")


def test_operators_in_rust_compute_what_those_in_c_do(modules: Path, tmp_path: Path) -> None:
    encoded = b"".join(case.encoded() for seed in range(3) for case in cases(seed))
    values = []
    for module in (modules / "operators.wasm", operators_in_c(tmp_path)):
        for preset in ("th-issd", "flash-cosmos"):
            drive = bitline.open(preset, data="memory")
            drive.volume["operators"] = encoded
            result = drive.tasks.run(module, {"operators": "r"})
            assert result.status == "committed", result.reason
            values.append(result.value)
    assert values == values[:1] * 4
