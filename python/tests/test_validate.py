"""`bitline validate`: what it accepts, prints and exits with."""

import json
import shutil
from pathlib import Path

import pytest

from bitline.cli import app, validate
from bitline.cli.errors import Exit

_CASES = next(
    (
        folder / "shared/mqsim/cases"
        for folder in Path(__file__).resolve().parents
        if (folder / "shared/mqsim/cases").is_dir()
    ),
    None,
)


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["bitline", "validate", "mqsim", *map(str, arguments)])
    try:
        app.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return Exit.OK


def test_folders_that_are_no_cases_are_usage_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(monkeypatch, tmp_path / "nowhere") == Exit.USAGE
    assert "there is no such folder" in capsys.readouterr().err
    assert _run(monkeypatch, tmp_path) == Exit.USAGE
    assert "no case is here" in capsys.readouterr().err


def test_a_file_that_is_no_xml_is_told_with_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "ssdconfig.xml").write_text("<Execution_Parameter_Set>\n<Host>\n</Execution_Parameter_Set>\n")
    (tmp_path / "workload.xml").write_text("")
    assert _run(monkeypatch, tmp_path) == Exit.USAGE
    assert "ssdconfig.xml:3: this is no XML" in capsys.readouterr().err


@pytest.mark.skipif(_CASES is None, reason="the folder shared/mqsim/cases is not beside the repository")
def test_a_case_agrees_and_a_changed_reference_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _CASES is not None
    case = tmp_path / "case"
    shutil.copytree(_CASES / "rr4k-qd1-ideal-nocache", case)
    assert _run(monkeypatch, case, "--json") == Exit.OK
    rows = json.loads(capsys.readouterr().out)
    assert {row["quantity"] for row in rows} >= {"mean response us", "flash reads pages"}
    assert all(set(row) == {"case", "quantity", "ours", "theirs", "deviation", "ok"} for row in rows)
    reference = (case / "reference.json").read_text()
    (case / "reference.json").write_text(
        reference.replace('"device_response_time": "88"', '"device_response_time": "99"')
    )
    assert _run(monkeypatch, tmp_path) == Exit.WRONG
    assert "1 of" in capsys.readouterr().out
    (case / "reference.json").unlink()
    assert _run(monkeypatch, case, "--json") == Exit.OK
    alone = json.loads(capsys.readouterr().out)
    assert [(row["quantity"], row["ours"]) for row in alone] == [
        (row["quantity"], row["ours"]) for row in rows
    ]
    assert {row["theirs"] for row in alone} == {None}
    assert _run(monkeypatch, case) == Exit.OK
    assert "compared with nothing" in capsys.readouterr().out


def test_a_folder_of_cases_is_all_of_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ssdconfig.xml").write_text("")
    assert validate._cases([tmp_path]) == [tmp_path / "a", tmp_path / "b"]
