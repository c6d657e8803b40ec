"""A camera into a drive: frames go to flash and, on the same way, to a task that keeps their bright bytes.

TH-iSSD (TECS 2023), Figure 3. The task is streams/bright.c; in Rust this is collector.rs.
"""

from pathlib import Path

import bitline
from bitline.cc import compile_task
from bitline.collectors import Wire

FRAME = 30_000
frames = [bytes((at * 7 + number) % 256 for at in range(FRAME)) for number in range(60)]
task = compile_task([Path(__file__).parent / "streams" / "bright.c"], Path("bright.wasm")).path

with bitline.open("flash-cosmos", data="memory") as drive:
    drive.collectors.allocate("video", 4 << 20)
    gigabit = Wire(rate=125_000_000)
    with drive.collectors.attach(0, "video", source=frames, rate=30 * FRAME, wire=gigabit) as camera:
        stream = drive.streams.open(camera, task=task, params=bytes([250]), piece_size=FRAME)
        camera.run()
    bright = stream.read()
    counts = drive.statistics.collectors
    print(f"{counts.packets} packets, {counts.written_bytes} on flash, {len(bright)} bytes are bright")
    assert drive.volume["video"] == b"".join(frames)
    assert bright == bytes(byte for byte in b"".join(frames) if byte >= 250)
