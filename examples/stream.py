"""The bright bytes of a file, picked inside the drive while they are read (TH-iSSD 3.4).

The task is streams/bright.c. In C this is stream_host.c, in Rust stream_host.rs.
"""

from pathlib import Path

import bitline
from bitline.cc import compile_task

LEAST = 250
frame = bytes((at * 7 + at // 256) % 256 for at in range(640_000))
expected = bytes(byte for byte in frame if byte >= LEAST)

task = compile_task([Path(__file__).parent / "streams" / "bright.c"], Path("bright.wasm")).path
with bitline.open("flash-cosmos", data="memory") as drive:
    drive.volume["frame"] = frame
    # From a file: its bright bytes come as they are found.
    with drive.streams.open("frame", task=task, params=bytes([LEAST])) as stream:
        found = b"".join(stream)
        print(f"{len(found)} of {len(frame)} bytes are bright; read in {stream.result.time}")
    assert found == expected
    # Into a file: what is written passes through the task, and is there as a whole when it is finished.
    drive.volume["picked"] = bytes(len(expected))
    with drive.streams.open(None, task=task, params=bytes([LEAST]), to="picked") as stream:
        for at in range(0, len(frame), 64_000):
            stream.write(frame[at : at + 64_000])
        stream.finish()
    assert drive.volume["picked"] == expected
