"""Every test runs with a fixed zone and locale, no git settings and no bonsai settings from outside."""

import os

import pytest
from hypothesis import settings

faults = os.environ.get("BONSAI_FAULTS", "")  # `all`: every fault there is, not a sample; takes an hour
for name in [name for name in os.environ if name.startswith(("GIT_", "BONSAI_", "_BONSAI", "LC_"))]:
    del os.environ[name]
os.environ.pop("NO_COLOR", None)
os.environ.pop("FORCE_COLOR", None)
os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", TZ="UTC", LC_ALL="C.UTF-8")
os.environ.update({"BONSAI_FAULTS": faults} if faults else {})

# No deadline: the machines that run this are shared. No database: a failure must not depend on what ran before.
settings.register_profile("bonsai", deadline=None, database=None, print_blob=True)
settings.load_profile("bonsai")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write what commands print now into the transcripts and docs"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether expected outputs are to be rewritten."""
    return bool(request.config.getoption("--update"))
