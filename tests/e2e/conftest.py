"""Fixtures of the end-to-end tests; what they can do is in harness.py."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import Box  # noqa: E402


@pytest.fixture
def box():
    """A folder of its own for each test, for sessions, reports and whatever the test makes."""
    box = Box()
    yield box
    box.remove()
