"""What the suites of faults share."""

import harness
import pytest


@pytest.fixture(scope="module")
def folder():
    """A scratch folder for the workspaces that are broken."""
    with harness.scratch() as found:
        yield found
