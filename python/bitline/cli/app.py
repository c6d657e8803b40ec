"""The Typer application: what `bitline --help` lists."""

import importlib
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import CompletionItem, TyperCommand, TyperGroup  # type: ignore[attr-defined]
from typer.main import get_command as made_by_typer

from bitline.cli.errors import Exit, reported

#: In help, a range up to a number of ten digits and more.
_WIDE_LIMITS = re.compile(r"\s*\[\d+<=x<=\d{10,}\]|;\s+\d+<=x<=\d{10,}(?=\])")


class _Listed(NamedTuple):
    """A command as it is listed, before its module is loaded."""

    where: str
    """Its function, or its application of further commands, as MODULE:NAME in `bitline.cli`."""
    help: str
    """What it does, in a line of a terminal."""


#: All commands, in the order of the list. Their modules are loaded when they are called: NumPy, PyArrow and
#: the simulator take longer to import than help takes to print.
COMMANDS: Mapping[str, _Listed] = {
    "demo": _Listed("demo:demo", "Answer TPC-H query 6's predicate, four ways"),
    "run": _Listed("run:run", "Measure flows of reads and writes, and queries"),
    "replay": _Listed("replay:replay", "Measure a block trace"),
    "sweep": _Listed("sweep:sweep", "Measure a grid of drives, workloads and seeds"),
    "explain": _Listed("explain:explain", "Show how an expression would be evaluated"),
    "advise": _Listed("advise:advise", "Propose groups and inversions of vectors"),
    "attach": _Listed("attach:attach", "Serve a drive to Linux as a file, or mounted"),
    "serve": _Listed("serve:serve", "Serve a drive to hosts over NVMe/TCP"),
    "age": _Listed("age:age", "Make the drive in an image older"),
    "health": _Listed("health:health", "Tell the health and wear of the drive in an image"),
    "lifetime": _Listed("lifetime:lifetime", "Count wrong results over a drive's lifetime"),
    "task": _Listed("task:app", "Run programs inside the drive in an image"),
    "file": _Listed("file:app", "Put, get, list and remove files of an image's volume"),
    "repro": _Listed("repro:app", "Regenerate the figures of papers, beside what they state"),
    "validate": _Listed("validate:app", "Compare with other simulators' results"),
    "cc": _Listed("cc:cc", "Compile a task in C for the drive's cores"),
    "presets": _Listed("presets:presets", "List the drives that come along"),
    "show": _Listed("show:show", "Print every key of a drive's configuration"),
    "image": _Listed("image:app", "Make, describe and check image files"),
    "bench": _Listed("bench:bench", "Measure how fast this machine simulates"),
}


class _Command(TyperCommand):
    """A command whose help leaves out the limits of 64 bits, which tell nobody anything."""

    def get_help(self, ctx: Any) -> str:  # noqa: ANN401 (Typer's own, which it does not export)
        return _WIDE_LIMITS.sub("", super().get_help(ctx))


class _Commands(TyperGroup):
    """The commands, each loaded when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (Typer's own, which it does not export)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].where.partition(":")
        found = getattr(importlib.import_module(f"bitline.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(rich_markup_mode=None, add_completion=False)
            found.command(cmd_name, cls=_Command)(function)
        made = made_by_typer(found)
        made.name = cmd_name
        return made

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in COMMANDS.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name].help) for name in names]
        return items + super(TyperGroup, self).shell_complete(ctx, incomplete)


app = typer.Typer(
    cls=_Commands,
    name="bitline",
    help="A whole computational SSD in software: real data, simulated time, computing inside the NAND array.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from bitline import __version__

        typer.echo(f"bitline {__version__}")
        raise typer.Exit


@app.callback(context_settings={"help_option_names": ["-h", "--help"]})
def _bitline(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; exits with one of `bitline.cli.errors.Exit`."""
    with reported():
        code = app(sys.argv[1:] or ["--help"], prog_name="bitline", standalone_mode=False)
        if code == Exit.INTERRUPTED:  # what Typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
    if isinstance(code, int):
        raise SystemExit(code)
