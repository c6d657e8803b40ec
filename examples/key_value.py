"""A key-value store on a drive: what was where, and what did the drive have to send for that?"""

import bitline

SHELVES, BOXES = 20, 50

with bitline.open() as drive:
    store = drive.search.key_value("warehouse")
    store.update({
        f"shelf-{shelf:02}/box-{box:02}".encode(): f"{shelf * box} pieces".encode()
        for shelf in range(SHELVES)
        for box in range(BOXES)
    })  # fmt: skip
    print(f"{len(store):,} names, stored by {drive.now}")

    begin, counters = drive.now, drive.search.counters
    sent = counters.bytes
    print(f"box 7 of shelf 3: {store[b'shelf-03/box-07'].decode()}")
    print(f"  found in {drive.now - begin}, {counters.bytes - sent} bytes were sent")

    shelf = store.prefix(b"shelf-03/")
    assert len(shelf) == BOXES
    print(f"shelf 3: {len(shelf)} boxes, the last one has {list(shelf.values())[-1].decode()}")

    # Box 7 of every shelf: the digits of the shelf do not count.
    name, mask = b"shelf-??/box-07", b"\xff" * 6 + b"\0\0" + b"\xff" * 7
    assert len(store.masked(name, mask)) == SHELVES

    some = store.range(b"shelf-04/box-48", b"shelf-05/box-02")
    print(f"from shelf 4, box 48, to shelf 5, box 1: {', '.join(key.decode() for key in some)}")

    store[b"shelf-03/box-07"] = b"empty"
    del store[b"shelf-03/box-08"]
    drive.power_cut()
    drive.power_up()
    store = drive.search.key_value("warehouse")
    assert store[b"shelf-03/box-07"] == b"empty"
    assert len(store) == SHELVES * BOXES - 1
    print("after a power cut: as it was")
