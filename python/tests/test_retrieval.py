"""Retrieval by content and zero-streaming at reduced size: answers are NumPy's; frames stay in the drive."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from test_cc import compiles

import bitline
from bitline.networks import Int8, Layer, Network, trained
from bitline.retrieval import Retrieval, label_recall, nearest, recall
from bitline.streams import StreamError, Where
from bitline.volume import Volume
from bitline.zero_streaming import ZeroStreaming, scores

SMALL = {"nand.geometry.blocks_per_plane": 64}
#: Columns whose weights of 127 times -128 are a sum that int32 just holds, but for this bias.
WIDE, REST = 132_104, 1_023


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


def layer_of(
    weights: object = ((1, 2),), bias: object = (0,), shift: int = 0, dtype: type = np.int64
) -> Layer:
    return Layer(np.array(weights, dtype), np.array(bias, np.int64), shift, False)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: layer_of([[128, 0]]), "weights from 0 to 128: int8 holds -128 to 127"),
        (lambda: layer_of([[-129, 0]]), "weights from -129 to 0: int8 holds -128 to 127"),
        (lambda: layer_of(dtype=float), "weights of float64: they are whole numbers, of int8"),
        (lambda: layer_of([1, 2]), r"weights of shape \(2,\): the shape is \[rows, columns\]"),
        (lambda: layer_of([[]]), r"weights of shape \(1, 0\): .*, at least 1 each"),
        (lambda: layer_of(bias=[[0]]), r"bias of shape \(1, 1\): the shape is \[rows\]"),
        (lambda: layer_of(bias=[0, 0]), "a bias of 2 numbers for weights of 1 rows"),
        (lambda: layer_of(bias=[1 << 31]), "bias from 2147483648 to 2147483648: int32 holds -2147483648"),
        (lambda: layer_of(shift=32), "shift = 32 is out of range; it must be 0 to 31"),
        (lambda: layer_of(shift=-1), "shift = -1 is out of range; it must be 0 to 31"),
        (
            lambda: layer_of(np.full((2, WIDE), [[1], [-127]]), [0, -REST - 1]),
            "row 1: weights whose sizes are 16777208 together, times numbers of up to 128, and a bias of "
            "-1024: sums of up to 2147483648; int32 holds 2147483647",
        ),
        (
            lambda: Network((layer_of(np.ones((4, 1 << 18)), [0] * 4),)),
            "a network of 1048612 bytes, as tasks take it; the most is 1048576",
        ),
        (lambda: Network((layer_of(),)).without_last(), "a network of one layer"),
        (lambda: layer_of().apply([[1], [1, 2]]), "items are no array"),
        (lambda: layer_of().apply(np.ma.masked_array([[1, 2]], dtype=np.int8)), "items that are masked"),
        (lambda: trained(np.ones((2, 64), np.int8), [0, 1], sizes=[20_000]), "the most is 1048576"),
        (lambda: trained(np.ones((2, 64), np.int8), [0, 1], sizes=[8, 0]), r"sizes\[1\] = 0 is out of range"),
        (lambda: trained(np.ones((2, 64)), [0, 1], sizes=[8]), "their numbers are int8"),
        (lambda: trained(np.ones((2, 64), np.int8), [0, -1], sizes=[8]), "labels of int64, from -1 on"),
        (lambda: trained(np.ones((2, 64), np.int8), [0, 0.5], sizes=[8]), "labels of float64"),
    ],
)
def test_what_a_network_cannot_be_made_of(make: Callable[[], object], says: str) -> None:
    with pytest.raises(bitline.UsageError, match=says):
        make()


def test_a_layer_stays_what_was_checked() -> None:
    weights = np.ones((1, 2), np.int8)
    layer = Layer(weights, np.zeros(1, np.int32), 0, False)
    weights[:] = 100
    assert layer.apply(np.ones((1, 2), np.int8)).tolist() == [[2]]
    with pytest.raises(ValueError, match="read-only"):
        layer.weights[:] = 100


@compiles
@pytest.mark.parametrize("preset", ["th-issd", "txisc"])
def test_the_largest_sums_are_those_of_numpy(preset: str) -> None:
    """Of numbers of int8; one more, and they wrap around, which NumPy's do not."""
    network = Network((layer_of(np.full((2, WIDE), [[127], [-127]]), [-REST, REST], shift=25),))
    items = np.repeat(np.array([[-128], [127], [-1]], np.int8), WIDE, axis=1)
    with bitline.open(preset, data="memory", set=SMALL) as drive:
        index = Retrieval(drive, network)
        index.add(items)
        assert (index.features() == network.apply(items)).all()
        assert index.features().tolist() == [[-64, 64], [63, -63], [-1, 1]]


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
    for ask in (lambda: index.query(item), lambda: index.fetch(0), index.features):
        with pytest.raises(bitline.UsageError, match="no items in 'retrieval/items' to be asked for: add"):
            ask()
    index.add(np.repeat(item, 20, axis=0))
    for wrong, says in (
        (item[:, :63], "each is a row of 64 numbers"),
        (item.astype(np.int32), "their numbers are int8"),
        (
            np.full((1, 64), 128, np.uint8),
            "items of uint8 up to 128: .* or uint8 up to 127",
        ),
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
    many = Network((Layer(np.ones((70_000, 1), np.int8), np.zeros(70_000, np.int32), 0, False),))
    with pytest.raises(bitline.UsageError, match="features of 70000 bytes; the most is 65536"):
        Retrieval(drive, many)
    with pytest.raises(bitline.UsageError, match="where = 'moon'; it must be 'drive' or 'card'"):
        Retrieval(drive, network, where="moon")  # type: ignore[arg-type]


def test_a_drive_with_little_room_for_arguments(network: Network) -> None:
    with bitline.open("th-issd", data="memory", set={**SMALL, "task.arguments_bytes": 1_000}) as drive:
        says = rf"{len(network.params)} bytes of a task's arguments; there are 1000 \(task.arguments_bytes"
        with pytest.raises(bitline.UsageError, match=says):
            Retrieval(drive, network)


def broken(network: Network) -> Network:
    """One that tasks refuse, past the checks of its making."""
    layers = tuple(Layer(layer.weights, layer.bias, layer.shift, layer.cut) for layer in network.layers)
    object.__setattr__(layers[0], "shift", 32)
    return Network(layers)


def stored(drive: bitline.Drive) -> dict[str, bytes]:
    return {name: bytes(drive.volume[name]) for name in drive.volume}


@compiles
@pytest.mark.parametrize("where", ["drive", "card"])
def test_a_task_that_fails_leaves_the_index_as_it_was(
    digits: tuple[Int8, NDArray[np.intp]], network: Network, drive: bitline.Drive, where: Where
) -> None:
    pictures, _ = digits
    wrong = Retrieval(drive, broken(network), where=where)
    with pytest.raises(StreamError, match="the stream failed") as caught:
        wrong.add(pictures[:50])
    assert caught.value.result.status == "failed"
    assert (len(wrong), stored(drive)) == (0, {})
    index = Retrieval(drive, network, where=where)
    index.add(pictures[:50])
    before, answers = (stored(drive), drive.volume.free_blocks), index.query(pictures[60:62], k=5)
    assert set(before[0]) == {"retrieval/items", "retrieval/features"}
    with pytest.raises(StreamError):
        wrong.add(pictures[50:150])
    assert (stored(drive), drive.volume.free_blocks) == before
    again = index.query(pictures[60:62], k=5)
    assert (again.numbers == answers.numbers).all()
    index.add(pictures[50:150])
    assert set(stored(drive)) == set(before[0])
    assert (index.features() == network.apply(pictures[50:150])).all()


def fill(drive: bitline.Drive) -> None:
    """Leave no room for another block."""
    size, number = 1 << 40, 0
    while size >= 4096:
        try:
            drive.collectors.allocate(f"ballast {number}", size)
        except bitline.UsageError:
            size //= 2
        number += 1


@compiles
@pytest.mark.parametrize("room", [1 << 12, 1 << 17])
def test_a_full_drive_leaves_the_index_as_it_was(
    digits: tuple[Int8, NDArray[np.intp]], network: Network, drive: bitline.Drive, room: int
) -> None:
    """With room for a block, and for items but not for their features."""
    pictures, _ = digits
    index = Retrieval(drive, network)
    index.add(pictures[:50])
    drive.collectors.allocate("room", room)
    fill(drive)
    del drive.volume["room"]
    names, free = set(drive.volume), drive.volume.free_blocks
    with pytest.raises(bitline.UsageError, match="blocks are needed"):
        index.add(np.ones((2_000, 64), np.int8))
    assert (set(drive.volume), drive.volume.free_blocks) == (names, free)
    assert len(index) == 50
    assert (index.features() == network.apply(pictures[:50])).all()
    assert (index.query(pictures[7:8], k=1).distances == 0).all()


@compiles
@pytest.mark.parametrize("failing", range(4))
def test_names_that_cannot_be_given_leave_the_index_as_it_was(
    digits: tuple[Int8, NDArray[np.intp]],
    network: Network,
    drive: bitline.Drive,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
) -> None:
    pictures, _ = digits
    index = Retrieval(drive, network)
    index.add(pictures[:50])
    before, calls, rename = stored(drive), iter(range(100)), Volume.rename

    def interrupted(volume: Volume, old: str, new: str) -> None:
        if next(calls) == failing:
            raise KeyboardInterrupt
        rename(volume, old, new)

    monkeypatch.setattr(Volume, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.add(pictures[50:150])
    assert (stored(drive), len(index)) == (before, 50)
    index.add(pictures[50:150])
    assert len(index) == 100


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
    for wrong, says in (
        (shown["a"][:, :63], "camera 'a': items of shape .*: each is a row of 64 numbers"),
        (shown["a"].astype(np.int16), "camera 'a': items of int16: their numbers are int8"),
    ):
        with pytest.raises(bitline.UsageError, match=says):
            recordings.record({"a": wrong})
    one = Network((Layer(np.ones((1, 64), np.int8), np.zeros(1, np.int32), 0, False),))
    with pytest.raises(bitline.UsageError, match="a network with one output"):
        ZeroStreaming(drive, one)
    with pytest.raises(bitline.UsageError, match="sends no frames"):
        recordings.record({"a": shown["a"][:0]})
    recordings.record({"a": shown["a"][:40]})
    with pytest.raises(bitline.UsageError, match="recorded before"):
        recordings.record({"a": shown["a"]})
    with pytest.raises((bitline.UsageError, ValueError), match="label"):
        next(recordings.query(10))
    with pytest.raises(bitline.UsageError, match="best = 0 is out of range"):
        next(recordings.query(1, best=0))
    assert recordings.cameras == {"a": 40}
    assert {one.number for one in next(recordings.query(1, steps=1)).best} == set(range(40))


def assert_nothing_began(drive: bitline.Drive, others: dict[str, bytes]) -> None:
    assert stored(drive) == others
    assert drive.collectors.list() == []


@compiles
def test_labels_that_cannot_be_made_leave_nothing(
    network: Network, shown: dict[str, Int8], drive: bitline.Drive
) -> None:
    recordings = ZeroStreaming(drive, broken(network))
    with pytest.raises(StreamError, match="the stream failed") as caught:
        recordings.record({"a": shown["a"][:40], "b": shown["b"]}, rate=100e6)
    assert caught.value.__notes__ == ["labels of camera 'a'"]
    assert_nothing_began(drive, {})
    results = ZeroStreaming(drive, network).record({"a": shown["a"][:40], "b": shown["b"]}, rate=100e6)
    assert all(results.values())


@compiles
def test_more_cameras_than_the_drive_has_streams_for(
    network: Network, shown: dict[str, Int8], drive: bitline.Drive
) -> None:
    recordings = ZeroStreaming(drive, network)
    cameras = {f"{number}": shown["a"][:40] for number in range(9)}
    says = r"9 cameras at once: .* 8 streams \(stream.streams_max\) and 256 ports \(collector.ports\)"
    with pytest.raises(bitline.UsageError, match=says):
        recordings.record(cameras)
    assert_nothing_began(drive, {})
    del cameras["8"]
    others = [drive.streams.open(None, task=recordings._label, elements=1) for _ in range(7)]
    with pytest.raises(bitline.NvmeError, match=r"camera '1': .*Stream Limit Reached"):
        recordings.record(cameras)
    assert_nothing_began(drive, {})
    for stream in others:
        stream.close()
    assert all(recordings.record(cameras, rate=100e6).values())
    assert len(recordings.cameras) == 8


@compiles
def test_what_is_in_the_way_of_a_recording(
    network: Network, shown: dict[str, Int8], drive: bitline.Drive
) -> None:
    recordings = ZeroStreaming(drive, network)
    cameras = {"a": shown["a"][:40], "b": shown["b"][:40]}
    drive.volume["cameras/b/labels"] = b"somebody's"
    with pytest.raises(bitline.UsageError, match="cameras/b/labels"):
        recordings.record(cameras)
    assert_nothing_began(drive, {"cameras/b/labels": b"somebody's"})
    del drive.volume["cameras/b/labels"]
    with pytest.raises(bitline.UsageError, match="rate = 0"):
        recordings.record(cameras, rate=0)
    assert_nothing_began(drive, {})
    with drive.collectors.attach(1, None), pytest.raises(bitline.NvmeError, match="camera 'b': "):
        recordings.record(cameras)
    assert_nothing_began(drive, {})
    fill(drive)
    full = set(drive.volume)
    with pytest.raises(bitline.UsageError, match="blocks are needed"):
        recordings.record(cameras)
    assert (set(drive.volume), drive.collectors.list()) == (full, [])


@compiles
def test_a_step_of_more_frames_than_a_task_tells_of(network: Network, drive: bitline.Drive) -> None:
    frames = np.random.default_rng(4).integers(0, 17, (20_000, 64), dtype=np.int8)
    for every in (30, 18_000):
        recordings = ZeroStreaming(drive, network, every=every, name=f"every {every}")
        recordings.record({"a": frames}, rate=1e9)
        (step,) = recordings.query(3, steps=1, best=20_000)
        found = {one.number: one.score for one in step.best}
        assert found == dict(enumerate(scores(network, frames, 3).tolist()))
