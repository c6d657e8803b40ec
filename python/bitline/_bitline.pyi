"""The compiled part of `bitline`: glue over the Rust crates."""

from collections.abc import Callable

__all__ = ["__version__", "generate_line_items"]

__version__: str

def generate_line_items(
    scale: float, progress: Callable[[int], object] | None = None
) -> tuple[bytearray, bytearray, bytearray, bytearray]:
    """Generate TPC-H `lineitem` rows.

    Args:
        scale: The scale factor, 0.0001 to 10; 1 gives 6,001,215 rows.
        progress: Called with the number of rows so far, every 65,536 rows and at the end.

    Returns:
        The columns ship date, quantity, discount and extended price as little-endian integers:
        days since 1970-01-01 (int32), pieces (uint8), percent (uint8) and cents (int64).

    Raises:
        ValueError: The scale is out of range.
    """
