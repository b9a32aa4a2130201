"""Fit the predictor: clusters of tool arguments by TF-IDF, a survival curve for each step of the ladder.

Needs scikit-learn (extra ``reuse``); what it makes needs nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwarm import __version__
from keepwarm._errors import InputError
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.kaplan_meier import survival_curve
from keepwarm.reuse.predictor import Cluster, Fitted, ReuseModel, ToolModel
from keepwarm.reuse.terms import terms_of, tool_of

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]

MIN_SAMPLES = 30  # behind every curve
MIN_SIMILARITY = 0.05
_MIN_CALLS_OF_TERM = 5
_MAX_TERMS = 4_096
_MAX_CENTROID_TERMS = 64
_MAX_TOOLS = 1_000
_DIGITS = 6


class FitOptions(NamedTuple):
    """``clusters`` is the most per tool; the data may carry fewer."""

    clusters: int = 50
    seed: int = 0
    min_similarity: float = MIN_SIMILARITY


def fit(
    durations: Sequence[ToolDuration], options: FitOptions | None = None, sources: Sequence[str] = ()
) -> ReuseModel:
    """A model of these durations: the same for the same durations, options and scikit-learn.

    Raises:
        InputError: fewer than ``MIN_SAMPLES`` durations, or scikit-learn is not installed.
    """
    options = FitOptions() if options is None else options
    if len(durations) < MIN_SAMPLES:
        raise InputError(
            f"{len(durations)} tool durations are too few for a curve, which takes {MIN_SAMPLES}; "
            "name more transcripts"
        )
    version = scikit_learn_version()
    of_all = survival_curve(durations)
    by_tool: defaultdict[str, list[ToolDuration]] = defaultdict(list)
    for duration in durations:
        by_tool[tool_of(duration.call)].append(duration)
    often = sorted(by_tool.items(), key=lambda item: (-len(item[1]), item[0]))[:_MAX_TOOLS]
    fitted = Fitted(
        keepwarm=__version__,
        scikit_learn=version,
        seed=options.seed,
        clusters=options.clusters,
        samples=len(durations),
        censored=sum(duration.cut_off for duration in durations),
        sources=tuple(sources),
    )
    tools = {tool: _fit_tool(held, of_all, options) for tool, held in often if len(held) >= MIN_SAMPLES}
    return ReuseModel(fitted, of_all, tools)


def scikit_learn_version() -> str:
    """Raises InputError where it is not installed."""
    try:
        import sklearn
    except ImportError:
        raise InputError(
            "fitting needs scikit-learn, which is not installed; install keepwarm[reuse]"
        ) from None
    return str(sklearn.__version__)


def _fit_tool(durations: list[ToolDuration], of_all: Curve, options: FitOptions) -> ToolModel:
    curve = survival_curve(durations, (of_all,))
    texts = [duration.call.arguments for duration in durations]
    bags = [terms_of(text) for text in texts]
    terms = _vocabulary(bags)
    distinct = len({tuple(sorted(bag)) for bag in bags})
    wanted = min(options.clusters, len(durations) // MIN_SAMPLES, distinct)
    if wanted < 1 or not terms:
        return ToolModel(curve)
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=terms_of, vocabulary=terms, sublinear_tf=True, min_df=1, norm="l2")
    vectors = vectorizer.fit_transform(texts)
    centroids = _centroids(vectors, wanted, options.seed)
    owners, centroids = _carried(vectors @ centroids.T, centroids, options.min_similarity)
    clusters = [
        _cluster(
            centroid,
            [d for d, owner in zip(durations, owners, strict=True) if owner == number],
            (curve, of_all),
        )
        for number, centroid in enumerate(centroids)
    ]
    idf = [round(float(weight), _DIGITS) for weight in vectorizer.idf_]
    return ToolModel(curve, terms, idf, clusters, min_similarity=options.min_similarity)


def _vocabulary(bags: list[list[str]]) -> list[str]:
    """Terms of several calls, those of the most calls if they are too many, in order of the alphabet."""
    calls_of = Counter(term for bag in bags for term in set(bag))
    often = sorted((-calls, term) for term, calls in calls_of.items() if calls >= _MIN_CALLS_OF_TERM)
    return sorted(term for _, term in often[:_MAX_TERMS])


def _centroids(vectors: Any, clusters: int, seed: int) -> Floats:
    """Centroids of unit length, one a row, with their heaviest terms only: what inference sees."""
    import numpy as np
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    means = MiniBatchKMeans(n_clusters=clusters, random_state=seed, n_init=3, batch_size=2_048)
    # One thread: sums come in one order, and threads that spin for work on a busy machine take a minute.
    with threadpool_limits(limits=1):
        centres = np.asarray(means.fit(vectors).cluster_centers_, dtype=np.float64)
    lightest_first = np.argsort(centres, axis=1, kind="stable")
    np.put_along_axis(centres, lightest_first[:, :-_MAX_CENTROID_TERMS], 0.0, axis=1)
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    unit: Floats = np.round(centres / np.where(lengths > 0.0, lengths, 1.0), _DIGITS)
    return unit


def _carried(similarities: Floats, centroids: Floats, least: float) -> tuple[list[int], Floats]:
    """The owner of each call (-1: none), once clusters of fewer than ``MIN_SAMPLES`` calls are given up.

    The smallest goes first, and its calls go to the next nearest, which may carry another.
    """
    import numpy as np

    kept = np.arange(len(centroids))
    while True:
        among = similarities[:, kept]
        owners = np.where(among.max(axis=1) >= least, among.argmax(axis=1), -1)
        sizes = np.bincount(owners[owners >= 0], minlength=len(kept))
        if sizes.min() >= MIN_SAMPLES:
            return owners.tolist(), centroids[kept]
        kept = np.delete(kept, sizes.argmin())
        if not len(kept):
            return [-1] * len(similarities), centroids[:0]


def _cluster(centroid: Floats, durations: list[ToolDuration], below: tuple[Curve, Curve]) -> Cluster:
    terms = centroid.nonzero()[0]
    weights = centroid[terms]
    return Cluster(
        tuple(terms.tolist()),
        tuple(min(weight, 1.0) for weight in weights.tolist()),
        survival_curve(durations, below),
    )
