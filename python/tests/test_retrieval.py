"""Retrieval by content and zero-streaming at reduced size: answers are NumPy's; frames stay in the drive."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from test_cc import compiles

import bitline
from bitline.networks import Int8, Layer, Network, trained
from bitline.retrieval import Retrieval, label_recall, nearest, recall
from bitline.streams import Where
from bitline.zero_streaming import ZeroStreaming, scores

SMALL = {"nand.geometry.blocks_per_plane": 64}


@pytest.fixture(scope="module")
def digits() -> tuple[Int8, NDArray[np.intp]]:
    """Pictures of 64 bytes, and which digit each shows."""
    found = load_digits()
    return found.data.astype(np.int8), found.target


@pytest.fixture(scope="module")
def network(digits: tuple[Int8, NDArray[np.intp]]) -> Network:
    pictures, labels = digits
    return trained(pictures[:1000], labels[:1000], sizes=(48, 16))


@pytest.fixture
def drive() -> Iterator[bitline.Drive]:
    with bitline.open("th-issd", data="memory", set=SMALL) as opened:
        yield opened


def test_a_network_tells_digits_apart(digits: tuple[Int8, NDArray[np.intp]], network: Network) -> None:
    pictures, labels = digits
    assert (network.labels(pictures[1000:]) == labels[1000:]).mean() > 0.85
    again = trained(pictures[:1000], labels[:1000], sizes=(48, 16))
    assert again.params == network.params


def test_layers_are_rounded_as_operators_are() -> None:
    weights = np.array([[1], [1], [-1], [127]], dtype=np.int8)
    layer = Layer(weights, np.array([0, 2, 0, 0], dtype=np.int32), 2, False)
    # 2 / 4 is a half, which goes to the even 0; 4 / 4; -2 / 4 to 0; 254 / 4 is 63.5, which goes to 64.
    assert layer.apply(np.array([[2]], dtype=np.int8)).tolist() == [[0, 1, 0, 64]]
    cut = Layer(weights, np.array([0, 0, -100, 10_000], dtype=np.int32), 0, True)
    assert cut.apply(np.array([[2]], dtype=np.int8)).tolist() == [[2, 2, 0, 127]]


@pytest.mark.parametrize("sizes", [(), (16,) * 8])
def test_networks_that_cannot_be(sizes: tuple[int, ...]) -> None:
    layers = tuple(Layer(np.ones((16, 16), np.int8), np.zeros(16, np.int32), 0, True) for _ in (*sizes, 0))
    if sizes:
        with pytest.raises(bitline.UsageError, match="9 layers"):
            Network(layers)
    with pytest.raises(bitline.UsageError, match="8 columns after one of 16 rows"):
        Network((layers[0], Layer(np.ones((2, 8), np.int8), np.zeros(2, np.int32), 0, False)))
    with pytest.raises(bitline.UsageError, match="labels for"):
        trained(np.ones((3, 4), np.int8), [0, 1], sizes=sizes)


@compiles
@pytest.mark.parametrize(
    ("preset", "where", "elements"),
    [("th-issd", "drive", 0), ("th-issd", "drive", 5), ("th-issd", "card", 0), ("txisc", "drive", 3)],
)
def test_answers_are_those_of_numpy(
    digits: tuple[Int8, NDArray[np.intp]], network: Network, preset: str, where: Where, elements: int
) -> None:
    """With an accelerator, on a card, and on cores that have none."""
    pictures, _ = digits
    known = pictures[:1000]
    features = network.without_last()
    with bitline.open(preset, data="memory", set=SMALL) as drive:
        index = Retrieval(drive, features, elements=elements, where=where)
        index.add(known)
        assert (index.features() == features.apply(known)).all()
        has_accelerator = drive.statistics.accelerators.operators > 0
        assert has_accelerator == (preset == "th-issd" and where == "drive")
        for count in (1, 2, 5, 16):
            asked = pictures[1000 : 1000 + count]
            answers = index.query(asked)
            numbers, distances = nearest(features.apply(known), features.apply(asked), 10)
            assert (answers.numbers == numbers).all()
            assert (answers.distances == distances).all()
            assert answers.time.ns > 0
        assert (index.fetch(17) == known[17]).all()


@compiles
def test_what_is_found_is_of_the_same_digit(
    digits: tuple[Int8, NDArray[np.intp]], network: Network, drive: bitline.Drive
) -> None:
    pictures, labels = digits
    index = Retrieval(drive, network.without_last())
    index.add(pictures[:1000])
    asked = pictures[1000:1200]
    found = np.concatenate([index.query(asked[at : at + 16]).numbers for at in range(0, 200, 16)])
    of_features = label_recall(found, labels[:1000], labels[1000:1200])
    of_pictures, _ = nearest(pictures[:1000], asked, 10)
    of_pixels = label_recall(of_pictures, labels[:1000], labels[1000:1200])
    # 16 bytes for 64, and no worse by much.
    assert of_features > of_pixels - 0.05 > 0.8
    assert 0.05 < recall(found, of_pictures) < 1
    assert recall(of_pictures, of_pictures) == 1


@compiles
def test_of_equally_near_items_the_first_come_first(network: Network, drive: bitline.Drive) -> None:
    index = Retrieval(drive, network, elements=3)
    index.add(np.tile(np.arange(64, dtype=np.int8), (5000, 1)))
    answers = index.query(np.arange(64, dtype=np.int8)[None], k=7)
    assert answers.numbers.tolist() == [list(range(7))]
    assert answers.distances.tolist() == [[0] * 7]
    # Others take their place.
    index.add(np.zeros((3, 64), np.int8))
    assert len(index) == 3
    assert sorted(index.query(np.ones((2, 64), np.int8), k=3).numbers[1].tolist()) == [0, 1, 2]


@compiles
def test_what_cannot_be_asked(network: Network, drive: bitline.Drive) -> None:
    index = Retrieval(drive, network)
    item = np.zeros((1, 64), np.int8)
    with pytest.raises(bitline.UsageError, match="no items to add"):
        index.add(item[:0])
    with pytest.raises((bitline.UsageError, ValueError), match="k"):
        index.query(item)
    index.add(np.repeat(item, 20, axis=0))
    for wrong, says in (
        (item[:, :63], "each is a row of 64 numbers"),
        (item.astype(np.int32), "their numbers are int8"),
        (np.full((1, 64), 128, np.uint8), "up to 127"),
        (item[0], "each is a row of 64 numbers"),
    ):
        with pytest.raises(bitline.UsageError, match=says):
            index.query(wrong, k=1)
        with pytest.raises(bitline.UsageError, match=says):
            index.add(wrong)
    with pytest.raises(bitline.UsageError, match="there are 1 to"):
        index.query(np.repeat(item, 7000, axis=0), k=1)
    with pytest.raises((bitline.UsageError, ValueError), match="k"):
        index.query(item, k=21)
    large = Network((Layer(np.ones((1, 300_000), np.int8), np.zeros(1, np.int32), 0, False),))
    with pytest.raises(bitline.UsageError, match="items of 300000 bytes; the most is 262144"):
        Retrieval(drive, large)


@pytest.fixture(scope="module")
def shown(digits: tuple[Int8, NDArray[np.intp]], network: Network) -> dict[str, Int8]:
    """What three cameras see: pictures of digits with noise, each for 20 frames."""
    pictures, _ = digits
    rng = np.random.default_rng(3)
    frames = pictures[1000:1045].repeat(20, axis=0)
    noisy = np.clip(frames + rng.integers(-1, 2, frames.shape), 0, 16).astype(np.int8)
    return {"a": noisy[:300], "b": noisy[300:617], "c": noisy[617:]}


@compiles
@pytest.mark.parametrize("preset", ["th-issd", "txisc"])
def test_frames_stay_in_the_drive_until_they_are_asked_for(
    network: Network, shown: dict[str, Int8], preset: str
) -> None:
    with bitline.open(preset, data="memory", set=SMALL) as drive:
        recordings = ZeroStreaming(drive, network, every=30)
        before = drive.statistics
        results = recordings.record(shown, rate=100e6)
        assert all(result.status == "committed" for result in results.values())
        sent = drive.statistics.since(before)
        size = sum(frames.nbytes for frames in shown.values())
        assert sent.collectors.bytes == sent.collectors.task_bytes == sent.collectors.written_bytes == size
        for camera, frames in shown.items():
            labels = recordings.labels(camera)
            assert list(labels) == list(range(0, len(frames), 30))
            assert list(labels.values()) == network.labels(frames[::30]).tolist()
        before = drive.statistics
        steps = list(recordings.query(3, steps=5, best=25))
        asked = drive.statistics.since(before)
        assert asked.link_up_bytes < size
        every = sorted(
            (-int(score), camera, number)
            for camera, frames in shown.items()
            for number, score in enumerate(scores(network, frames, 3))
        )
        best = [(-one.score, one.camera, one.number) for one in steps[-1].best]
        assert best == every[:25]
        # It gets better and better, and what looks most like it comes first.
        totals = [sum(one.score for one in step.best) for step in steps]
        assert totals == sorted(totals)
        assert [step.scored for step in steps] == sorted({step.scored for step in steps})
        assert steps[-1].scored == steps[0].frames == sum(map(len, shown.values()))
        wanted = {(camera, number) for _, camera, number in every[:25]}
        early = {(one.camera, one.number) for one in steps[0].best} & wanted
        assert len(early) > 25 * steps[0].scored / steps[0].frames
        first = steps[-1].best[0]
        assert (recordings.fetch(first) == shown[first.camera][first.number]).all()


@compiles
def test_recording_more_frames_sends_no_more_over_the_link(network: Network, shown: dict[str, Int8]) -> None:
    sent = []
    for times in (1, 8):
        with bitline.open("th-issd", data="memory", set=SMALL) as drive:
            recordings = ZeroStreaming(drive, network)
            before = drive.statistics
            recordings.record(
                {camera: np.tile(frames, (times, 1)) for camera, frames in shown.items()}, rate=1e9
            )
            done = drive.statistics.since(before)
            sent.append((done.collectors.bytes, done.link_down_bytes + done.link_up_bytes))
    (few, link), (many, same) = sent
    assert many == 8 * few
    # Names of objects, networks, commands.
    assert abs(same - link) < 4_096


@compiles
def test_recordings_that_cannot_be(network: Network, shown: dict[str, Int8], drive: bitline.Drive) -> None:
    recordings = ZeroStreaming(drive, network)
    with pytest.raises(bitline.NotFoundError, match="no camera 'x'; there are none"):
        recordings.labels("x")
    assert list(recordings.query(1)) == []
    with pytest.raises(bitline.UsageError, match="sends no frames"):
        recordings.record({"a": shown["a"][:0]})
    recordings.record({"a": shown["a"][:40]})
    with pytest.raises(bitline.UsageError, match="recorded before"):
        recordings.record({"a": shown["a"]})
    with pytest.raises((bitline.UsageError, ValueError), match="label"):
        next(recordings.query(10))
    assert recordings.cameras == {"a": 40}
    assert {one.number for one in next(recordings.query(1, steps=1)).best} == set(range(40))
