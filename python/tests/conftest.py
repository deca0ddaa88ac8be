"""What the tests have in common: a small program, recorded once."""

from pathlib import Path

import pytest

import befit


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also what takes minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: --long"))


@pytest.fixture(scope="session")
def recording() -> befit.Recording:
    return befit.record("rrm", n=20_000, calibrate=False)


@pytest.fixture
def file(recording: befit.Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The recording in a file, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    recording.save("rrm.befit")
    return "rrm.befit"
