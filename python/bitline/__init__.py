"""A whole computational SSD in software: real data, simulated time, computing inside the NAND array."""

from bitline._bitline import __version__

__all__ = ["__version__"]
