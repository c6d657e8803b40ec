"""The `bitline` command: one file a subcommand, and what they share."""

from bitline.cli.app import main

__all__ = ["main"]
