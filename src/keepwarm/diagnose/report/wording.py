"""What the terminal and the HTML report say alike: the fates, the set-up, the order of things."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm._text import count, counted, percent, visible
from keepwarm.diagnose.findings import CallSite, Diagnosis, Finding, Owner, TokenFates
from keepwarm.diagnose.report.sampled import hit_rate_if_fixed_off, hit_rate_off

_ALIKE_PERCENT = 55  # two or three slips of the pen in a short name


class Fate(NamedTuple):
    """A fate of a prompt token, and how it is drawn: ``glyph`` tells it apart without colour."""

    name: str
    meaning: str
    glyph: str
    colour: str  # of the terminal's own palette


FATES: tuple[Fate, ...] = (
    Fate("hit", "served from the simulated cache", "█", "green"),
    Fate("forced", "recomputed although cached: the engine always computes the last token", "▓", "cyan"),
    Fate("partial", "in a trailing part-block, which is never cached", "▒", "yellow"),
    Fate("cold", "new content, no prompt order could have saved it", "░", "blue"),
    Fate("diverged", "seen before, but here it sits behind a break", "╳", "red"),
    Fate("evicted", "was cached, then lost to capacity", "╱", "magenta"),
)

OWNERS: dict[Owner, str] = {
    Owner.APP: "the application's own source",
    Owner.MODEL: "text the model wrote, replayed by the application",
    Owner.TEMPLATE: "the chat template or tokenizer",
    Owner.ENGINE: "the server's configuration or routing",
}


def fate_counts(tokens: TokenFates) -> tuple[int, ...]:
    """The six counts in the order of ``FATES``."""
    return (tokens.hit, tokens.forced, tokens.partial, tokens.cold, tokens.diverged, tokens.evicted)


def cells(counts: tuple[int, ...], width: int) -> tuple[int, ...]:
    """``width`` cells shared out in proportion to ``counts``; what is not zero gets at least one."""
    total = sum(counts)
    if not total:
        return tuple(0 for _ in counts)
    exact = [number * width / total for number in counts]
    shared = [max(1, int(part)) if number else 0 for number, part in zip(counts, exact, strict=True)]
    order = range(len(counts))
    while sum(shared) < width:
        shared[max(order, key=lambda i: (exact[i] - shared[i], -i))] += 1
    while sum(shared) > width:
        shared[max(order, key=lambda i: (shared[i] > 1, shared[i] - exact[i], -i))] -= 1
    return tuple(shared)


def leaderboard(diagnosis: Diagnosis) -> list[CallSite]:
    """Call sites, the one that loses most first."""
    return sorted(diagnosis.call_sites, key=lambda site: (-site.lost_tokens, -site.prompt_tokens, site.id))


def by_recovery(diagnosis: Diagnosis) -> list[Finding]:
    """Findings, most recoverable first."""
    return sorted(diagnosis.findings, key=lambda finding: -finding.recoverable_tokens)


def site_names(diagnosis: Diagnosis) -> dict[str, str]:
    """Call site id to the name shown for it."""
    return {site.id: visible(site.name or site.id) for site in diagnosis.call_sites}


def input_line(diagnosis: Diagnosis) -> str:
    """``openai-chat · 120 requests · 4 call sites``."""
    info = diagnosis.input
    parts = [
        visible(info.format),
        counted(info.requests, "request"),
        counted(len(diagnosis.call_sites), "call site"),
    ]
    return " · ".join(parts)


def skipped_line(diagnosis: Diagnosis) -> str | None:
    """``3 lines skipped``, or None when every line was used."""
    skipped = diagnosis.input.skipped
    return f"{counted(len(skipped), 'line')} skipped" if skipped else None


def encoding_line(diagnosis: Diagnosis) -> str:
    """Which tokenizer and template, and what that means for exactness."""
    encoding = diagnosis.encoding
    meaning = "token counts are exact" if encoding.exact else "token counts are approximate"
    names = f"{visible(encoding.tokenizer)} · chat template {visible(encoding.chat_template)}"
    return f"{names} · {visible(encoding.note) or meaning}"


def cache_line(diagnosis: Diagnosis) -> str:
    """Block size and capacity of the simulated cache."""
    cache = diagnosis.cache
    if cache.capacity_blocks is None:
        capacity = "unbounded"
    else:
        tokens = cache.capacity_blocks * cache.block_size
        capacity = f"{counted(cache.capacity_blocks, 'usable block')} ({count(tokens)} tokens)"
    return f"simulated, {cache.block_size}-token blocks, {capacity}"


def measured_line(diagnosis: Diagnosis) -> str | None:
    """What the server reported of its own cache beside what the same requests hit here, or None."""
    recorded, hit, requests = 0, 0, 0
    for row in diagnosis.rows:
        if row.counted and row.cached_tokens is not None:
            recorded, hit, requests = recorded + row.cached_tokens, hit + row.tokens.hit, requests + 1
    if not requests:
        return None
    told = counted(recorded, "token")
    return f"{told} recorded by the server, {count(hit)} simulated, in {counted(requests, 'request')}"


def caveats(diagnosis: Diagnosis) -> list[str]:
    """What the file does not say, and what follows for the reader."""
    found = []
    capacity, block_size = diagnosis.cache.capacity_blocks, diagnosis.cache.block_size
    prompts = [-(-row.tokens.prompt // block_size) for row in diagnosis.rows]
    if capacity is not None and (too_large := sum(blocks > capacity for blocks in prompts)):
        found.append(
            f"Larger than this cache: {count(too_large)} of {counted(len(prompts), 'prompt')}, which a "
            "server would refuse and which hit nothing here; the longest takes "
            f"{counted(max(prompts), 'block')}."
        )
    if not diagnosis.input.prompt_texts_known:
        found.append("The file records hashes, not texts: where a prefix breaks is known, the words are not.")
    elif not diagnosis.input.prompt_complete:
        found.append(
            "The file leaves out a part of each prompt (system text or tools): breaks there go unseen."
        )
    return found


def verdict(diagnosis: Diagnosis) -> str:
    """The hit rate now and with every finding fixed, in one sentence."""
    rate = f"{percent(diagnosis.hit_rate)}{hit_rate_off(diagnosis)}"
    now = f"{rate} of the prompt tokens hit the cache (simulated)"
    fixed = percent(diagnosis.hit_rate_if_fixed)
    if diagnosis.findings and fixed != percent(diagnosis.hit_rate):
        return f"{now}, {fixed}{hit_rate_if_fixed_off(diagnosis)} with every finding fixed (simulated)."
    lost_here = diagnosis.tokens.diverged + diagnosis.tokens.evicted
    if sum(site.lost_tokens for site in diagnosis.call_sites) > lost_here:
        return f"{now}, fewer as recorded by the server."
    return f"{now}."


def nothing_found(diagnosis: Diagnosis) -> str:
    """What to say where there is no finding; a loss without a known cause is no clean bill."""
    lost = sum(site.lost_tokens for site in diagnosis.call_sites)
    if not lost:
        return "Nothing to fix was found."
    return f"Nothing to fix was found: no known cause gives back enough of the {counted(lost, 'lost token')}."


def varying(finding: Finding, most: int = 3) -> tuple[list[str], int]:
    """Different values to show, at most ``most``, and how many more were recorded."""
    values = [value or "(nothing)" for value in dict.fromkeys(map(visible, finding.evidence.values))]
    return values[:most], max(0, len(values) - most)


def nearest(wanted: str, known: list[str]) -> list[str]:
    """The few of ``known`` that may have been meant by ``wanted``, likeliest first; often none."""
    from rapidfuzz import process

    return [name for name, _, _ in process.extract(wanted, known, limit=3, score_cutoff=_ALIKE_PERCENT)]
