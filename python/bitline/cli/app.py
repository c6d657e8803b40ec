"""The Typer application: what `bitline --help` lists."""

import sys
from typing import Annotated

import typer

from bitline import __version__
from bitline.cli import image, repro, validate
from bitline.cli.advise import advise
from bitline.cli.age import age
from bitline.cli.bench import bench
from bitline.cli.demo import demo
from bitline.cli.errors import Exit, reported
from bitline.cli.explain import explain
from bitline.cli.lifetime import lifetime
from bitline.cli.presets import presets
from bitline.cli.replay import replay
from bitline.cli.run import run
from bitline.cli.show import show
from bitline.cli.sweep import sweep

app = typer.Typer(
    name="bitline",
    help="A whole computational SSD in software: real data, simulated time, computing inside the NAND array.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bitline {__version__}")
        raise typer.Exit


@app.callback()
def _bitline(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (demo, run, replay, sweep, age, lifetime, presets, show, explain, advise, bench):
    app.command()(command)
app.add_typer(image.app, name="image")
app.add_typer(validate.app, name="validate")
app.add_typer(repro.app, name="repro")


def main() -> None:
    """Run the command line; exits with one of `bitline.cli.errors.Exit`."""
    with reported():
        code = app(sys.argv[1:] or ["--help"], prog_name="bitline", standalone_mode=False)
        if code == Exit.INTERRUPTED:  # what Typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
    if isinstance(code, int):
        raise SystemExit(code)
