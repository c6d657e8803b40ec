"""What several tests share."""

import pytest

from bitline.demo import LineItems, generate


@pytest.fixture(scope="session")
def rows() -> LineItems:
    """Some 6,000 rows."""
    return generate(0.001)
