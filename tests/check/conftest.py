"""The marks of the end-to-end tests: tests/e2e/harness.py."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from harness import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
