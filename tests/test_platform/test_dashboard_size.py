"""The dashboard as it ships: what a browser loads stays small."""

import gzip
from importlib import resources

MOST_BYTES = 250_000


def test_all_scripts_together_stay_small() -> None:
    static = resources.files("keepwarm.api").joinpath("static")
    assert static.is_dir(), "build it first: make web"
    sizes = {
        path.name: len(gzip.compress(path.read_bytes()))
        for path in static.rglob("*.js")  # type: ignore[attr-defined]
    }
    assert sizes
    assert sum(sizes.values()) < MOST_BYTES, sizes
