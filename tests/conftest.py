"""What every test may ask for: the shared labelled cases, real tokenizers, a Hypothesis profile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts into the background so, and programs that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach for a model hub
# transformers would advise to install torch: it is absent on purpose.
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")

hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-long", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, not skip, the long runs: they belong to `make test-full`."""
    if config.getoption("--run-long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session", autouse=True)
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Interned traces go to a folder of this run, not to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEEPWARM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the labelled cases: ``KEEPWARM_SHARED``, else ``../shared`` beside the checkout."""
    folder = Path(os.environ.get("KEEPWARM_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "cases").is_dir():
        pytest.fail(f"no labelled cases in {str(folder)!r}; set KEEPWARM_SHARED to the folder with cases/")
    return folder


@pytest.fixture(scope="session")
def test_tokenizers() -> Path:
    """A folder of real Hugging Face tokenizers, one subfolder each, filled by `make test`."""
    folder = Path(os.environ.get("KEEPWARM_TEST_TOKENIZERS", REPOSITORY / "build" / "test-tokenizers"))
    if not any(folder.glob("*/tokenizer.json")):
        pytest.fail(f"no tokenizers in {str(folder)!r}; `make test` fetches them")
    return folder
