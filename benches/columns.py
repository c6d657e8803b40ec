"""Wall time of counts over ten million rows, beside NumPy with the same packed bits.

    python benches/columns.py [ROWS]

For each predicate: milliseconds of this machine until Bitline's count is there, all of the simulated
drive's work included; those of NumPy's bitwise operators and `bitwise_count` over the same vectors; and the
simulated time. Best of several runs, as machines are noisy.
"""

import sys
import time
from collections.abc import Callable
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import bitline
from bitline.columns import BitmapIndex, Predicate

RUNS = 30
Packed = NDArray[np.uint64]


def table(rows: int) -> pa.Table:
    """Colours, ages, prices with nulls, and flags."""
    random = np.random.default_rng(1)
    colours = pa.DictionaryArray.from_arrays(
        random.integers(4, size=rows, dtype=np.int8), ["red", "green", "blue", "grey"]
    )
    prices = pa.array(random.integers(0, 10_000, rows), mask=random.random(rows) < 0.01)
    return pa.table(
        {
            "colour": colours,
            "age": random.integers(100, size=rows, dtype=np.int8),
            "price": prices,
            "sold": random.random(rows) < 0.5,
            "paid": random.random(rows) < 0.5,
        }
    )


def best_ms(call: Callable[[], object]) -> float:
    """Milliseconds of the fastest of several calls, after one to warm up."""
    call()
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def packed(index: BitmapIndex, column: str) -> list[Packed]:
    """The vectors of a column as words."""
    return [np.frombuffer(vector.read_packed(), np.uint64) for vector in index[column].vectors]


def main(rows: int) -> None:
    """Measure, and print a row for each predicate."""
    if rows % 64:
        raise SystemExit(f"{rows} rows: give a multiple of 64, so that no word has bits beyond the last row")
    with bitline.open() as drive:
        begin = time.perf_counter()
        index = drive.bitmap_index(table(rows))
        print(f"{rows:,} rows indexed in {time.perf_counter() - begin:.1f} s\n")
        vectors = {name: packed(index, name) for name in index}
        colour, age, [sold], [paid] = (vectors[name] for name in ("colour", "age", "sold", "paid"))
        is_sold, is_paid = index["sold"] == True, index["paid"] == True  # noqa: E712
        young, bright = index["age"] < 30, index["colour"].isin(["red", "green"])

        def young_rows() -> Packed:
            # As the planes of a constant 0011110 in binary are combined by hand.
            return ~(age[6] | age[5] | (age[4] & age[3] & age[2] & age[1]))

        asked: list[tuple[str, Predicate, Callable[[], Packed]]] = [
            ("sold & paid", is_sold & is_paid, lambda: sold & paid),
            ("colour in 2", bright, lambda: colour[1] | colour[3]),
            ("age < 30", young, young_rows),
            ("age < 30 & colour in 2", young & bright, lambda: young_rows() & (colour[1] | colour[3])),
            (
                "all of it",
                young & bright & is_sold & is_paid,
                lambda: reduce(np.bitwise_and, [young_rows(), colour[1] | colour[3], sold, paid]),
            ),
        ]
        print(f"{'':24}{'Bitline':>10}{'NumPy':>10}{'ratio':>8}{'simulated':>12}")
        for words, predicate, rows_of in asked:
            count = predicate.count()
            assert count == int(np.bitwise_count(rows_of()).sum())
            ours = best_ms(predicate.count)
            theirs = best_ms(lambda rows_of=rows_of: int(np.bitwise_count(rows_of()).sum()))
            before = drive.now
            predicate.count()
            print(
                f"{words:24}{ours:>7.2f} ms{theirs:>7.2f} ms{ours / theirs:>8.2f}{drive.now - before!s:>12}"
            )
        begin = time.perf_counter()
        index["price"].sum(young & bright)
        print(
            f"\nsum of 14 planes where age < 30 & colour in 2: {1e3 * (time.perf_counter() - begin):.0f} ms"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
