"""Pictures of digits in a drive, found by content: features are made, and looked through, where they are.

TH-iSSD (TECS 2023), 4.1, at a small size; the pictures are scikit-learn's.
"""

from sklearn.datasets import load_digits

import bitline
from bitline.networks import trained
from bitline.retrieval import Retrieval, label_recall, nearest, recall

digits = load_digits()
pictures = digits.data.astype("int8")  # 1,797 of 64 bytes, 0 to 16
known, asked = slice(0, 1500), slice(1500, 1516)
network = trained(pictures[known], digits.target[known], sizes=(48, 16))

with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
    index = Retrieval(drive, network.without_last())
    built = index.add(pictures[known])
    print(f"{len(index)} features in {built.time}")
    for count in (1, 4, 16):
        answers = index.query(pictures[asked][:count])
        print(f"{count:2} queries in {answers.time}")
    # The same as NumPy finds.
    features = network.without_last().apply(pictures[known])
    queries = network.without_last().apply(pictures[asked])
    numbers, distances = nearest(features, queries, 10)
    assert (answers.numbers == numbers).all()
    assert (answers.distances == distances).all()
    of_pictures, _ = nearest(pictures[known], pictures[asked], 10)
    labels, wanted = digits.target[known], digits.target[asked]
    print(f"of the same digit: {label_recall(answers.numbers, labels, wanted):.0%}")
    print(f"nearest by their pixels, too: {recall(answers.numbers, of_pictures):.0%}")
    first = index.fetch(int(answers.numbers[0, 0]))  # a picture crosses the link
    assert (first == pictures[answers.numbers[0, 0]]).all()
