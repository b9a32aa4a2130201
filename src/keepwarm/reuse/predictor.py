"""The fitted predictor: a ladder of survival curves, of all calls, of a tool, of calls with like arguments.

Standard library only: it runs in the server. A fitted one comes from ``keepwarm.reuse.model.load``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.terms import MAX_CHARACTERS, terms_of, tool_of

_REMEMBERED_CALLS = 4096


class Fitted(NamedTuple):
    """How a model came to be. ``clusters`` is what was asked for; the data may carry fewer."""

    keepwarm: str
    scikit_learn: str
    seed: int
    clusters: int
    samples: int
    censored: int  # of the samples: calls that were cut off
    sources: tuple[str, ...]  # names of the files, without their folders


class Cluster(NamedTuple):
    """Calls of one tool with like arguments: a centroid of unit length, sparse, and their curve."""

    terms: tuple[int, ...]  # rising positions in the tool's ``terms``
    weights: tuple[float, ...]
    curve: Curve


class ToolModel:
    """One tool: its curve, and clusters of its arguments by TF-IDF of words and pairs of words."""

    def __init__(
        self,
        curve: Curve,
        terms: Sequence[str] = (),
        idf: Sequence[float] = (),
        clusters: Sequence[Cluster] = (),
        *,
        min_similarity: float = 0.0,
    ) -> None:
        self.curve = curve
        self.terms = tuple(terms)
        self.idf = tuple(idf)
        self.clusters = tuple(clusters)
        self.min_similarity = min_similarity
        postings: list[list[tuple[int, float]]] = [[] for _ in terms]
        for number, cluster in enumerate(clusters):
            for term, weight in zip(cluster.terms, cluster.weights, strict=True):
                postings[term].append((number, weight))
        self._terms = {
            term: (weight, tuple(held))
            for term, weight, held in zip(self.terms, self.idf, postings, strict=True)
        }

    def nearest(self, arguments: str) -> Curve | None:
        """The curve of the cluster nearest by cosine; None if none is near enough. On a tie, the first."""
        if not self.clusters:
            return None
        dots = [0.0] * len(self.clusters)
        square = 0.0
        for term, count in Counter(terms_of(arguments)).items():
            known = self._terms.get(term)
            if known is None:
                continue
            weight = (1.0 + math.log(count)) * known[0]
            square += weight * weight
            for number, centroid_weight in known[1]:
                dots[number] += weight * centroid_weight
        best = max(dots)
        if best <= 0.0 or best < self.min_similarity * math.sqrt(square):
            return None
        return self.clusters[dots.index(best)].curve


class ReuseModel:
    """What is left of a tool call, by the most particular curve that says anything.

    The ladder: calls of the tool with like arguments, calls of the tool, all calls. A tool that was never
    seen, arguments like none, or a time past the end of a curve go one step down; past the last, "unknown".
    """

    def __init__(self, fitted: Fitted, curve: Curve, tools: Mapping[str, ToolModel]) -> None:
        self.fitted = fitted
        self.curve = curve
        self.tools = dict(tools)
        self._ladders: dict[ToolCall, tuple[Curve, ...]] = {}

    def remaining_s(self, call: ToolCall, elapsed_s: float) -> float | None:
        """Expected seconds until a call ends that has run for ``elapsed_s``; None for "unknown", never 0.

        Under 100 µs, also for a call not seen before and for one of megabytes. Never raises. Mutates: the
        curves of the last few thousand calls are remembered, so a call that is asked of again costs little.
        """
        for curve in self.ladder(call):
            remaining_s = curve.remaining_s(elapsed_s)
            if remaining_s is not None:
                return remaining_s
        return None

    def stays_away(self, call: ToolCall, elapsed_s: float, longer_s: float) -> float | None:
        """How likely a call runs for ``longer_s`` more; None for "unknown". As ``remaining_s`` otherwise."""
        for curve in self.ladder(call):
            share = curve.stays_away(elapsed_s, longer_s)
            if share is not None:
                return share
        return None

    def ladder(self, call: ToolCall) -> tuple[Curve, ...]:
        """The curves that apply to a call, most particular first. Mutates as ``remaining_s`` does."""
        seen = ToolCall(call.tool, call.arguments[:MAX_CHARACTERS])
        ladder = self._ladders.get(seen)
        if ladder is None:
            ladder = self._climbed(seen)
            if len(self._ladders) >= _REMEMBERED_CALLS:
                del self._ladders[next(iter(self._ladders))]
            self._ladders[seen] = ladder
        return ladder

    def _climbed(self, call: ToolCall) -> tuple[Curve, ...]:
        tool = self.tools.get(tool_of(call))
        if tool is None:
            return (self.curve,)
        nearest = tool.nearest(call.arguments)
        return (tool.curve, self.curve) if nearest is None else (nearest, tool.curve, self.curve)
