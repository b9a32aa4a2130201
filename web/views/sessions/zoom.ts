// The part of the time axis that is seen: within the run, never narrower than a thousandth of a second.

import type { Seen } from "./series";

const LEAST_S = 0.001;

/** The same width, moved and cut so that it lies within 0 to `whole`. */
export function within(seen: Seen, whole_s: number): Seen {
  const width = Math.min(Math.max(seen.to_s - seen.from_s, LEAST_S), whole_s);
  const from = Math.min(Math.max(seen.from_s, 0), whole_s - width);
  return { from_s: from, to_s: from + width };
}

/** `by` above 1 shows less of the time; what is at `around_s` stays where it is. */
export function zoomed(seen: Seen, by: number, around_s: number, whole_s: number): Seen {
  const width = (seen.to_s - seen.from_s) / by;
  const share = (around_s - seen.from_s) / (seen.to_s - seen.from_s || 1);
  const from = around_s - share * width;
  return within({ from_s: from, to_s: from + width }, whole_s);
}

export function moved(seen: Seen, by_s: number, whole_s: number): Seen {
  return within({ from_s: seen.from_s + by_s, to_s: seen.to_s + by_s }, whole_s);
}

/** Moved just so far that `from_s` to `to_s` is seen; a stretch that is too long is seen from its start. */
export function showing(seen: Seen, from_s: number, to_s: number, whole_s: number): Seen {
  const width = seen.to_s - seen.from_s;
  if (from_s >= seen.from_s && to_s <= seen.to_s) return seen;
  const margin = 0.05 * width;
  const start = from_s < seen.from_s || to_s - from_s > width ? from_s - margin : to_s + margin - width;
  return within({ from_s: start, to_s: start + width }, whole_s);
}

/** From the address; anything that is no stretch of the run is the whole of it. */
export function readSeen(from: string | null, to: string | null, whole_s: number): Seen {
  const [from_s, to_s] = [Number(from ?? 0), Number(to ?? whole_s)];
  const fit = Number.isFinite(from_s) && Number.isFinite(to_s) && to_s > from_s && from_s < whole_s;
  return fit ? within({ from_s, to_s }, whole_s) : { from_s: 0, to_s: whole_s };
}
