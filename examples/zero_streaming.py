"""Three cameras into a drive: one frame in thirty is labelled as it comes; a query finds frames, best first.

TH-iSSD (TECS 2023), 4.2, at a small size: frames are scikit-learn's pictures of digits, a second of each.
"""

import numpy as np
from sklearn.datasets import load_digits

import bitline
from bitline.networks import trained
from bitline.zero_streaming import ZeroStreaming, scores

digits = load_digits()
pictures = digits.data.reshape(-1, 8, 8).astype("int8")
frames = pictures.repeat(2, axis=1).repeat(2, axis=2).reshape(-1, 256)  # 16 x 16
network = trained(frames[:900], digits.target[:900], sizes=(32,))

# What each camera sees: a digit a second, with noise, 30 frames a second.
rng = np.random.default_rng(7)
shown = frames[900:960].repeat(30, axis=0)
noisy = np.clip(shown + rng.integers(-2, 3, shown.shape), 0, 16).astype("int8")
cameras = dict(zip(("door", "street", "yard"), np.split(noisy, 3), strict=True))

with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
    recordings = ZeroStreaming(drive, network)
    before = drive.statistics
    recordings.record(cameras, rate=30 * 256)
    sent = drive.statistics.since(before)
    print(f"{sent.collectors.bytes} recorded in {sent.elapsed}; {sent.link_down_bytes} over the link")
    for step in recordings.query(7):
        print(f"{step.scored:5} of {step.frames} frames scored, the best {step.best[0].score}: {step.time}")
    every = [
        (-score, name, at) for name in cameras for at, score in enumerate(scores(network, cameras[name], 7))
    ]
    assert [(-one.score, one.camera, one.number) for one in step.best] == sorted(every)[: len(step.best)]
    best = step.best[0]
    assert (recordings.fetch(best) == cameras[best.camera][best.number]).all()
