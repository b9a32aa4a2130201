// Long series as paths: what lies on one pixel becomes one stroke from its least to its most.

export interface Seen {
  from_s: number;
  to_s: number;
}

/** The index of the last entry at or before a time; -1 before the first. Times rise. */
export function indexAt(times: number[], time_s: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= time_s) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A value that holds from its time to the next, as a path. Never longer than four points a pixel. */
export function stepPath(
  times: number[],
  values: number[],
  seen: Seen,
  x: (time_s: number) => number,
  y: (value: number) => number,
): string {
  const first = Math.max(0, indexAt(times, seen.from_s));
  const last = indexAt(times, seen.to_s);
  if (times.length === 0 || last < first) return "";
  const level = (index: number) => y(values[index] ?? 0);
  const parts = [`M${x(Math.max(times[first] ?? 0, seen.from_s)).toFixed(1)} ${level(first).toFixed(1)}`];
  let index = first + 1;
  while (index <= last) {
    const pixel = Math.floor(x(times[index] ?? 0));
    let least = Infinity;
    let most = -Infinity;
    const here = index;
    while (index <= last && Math.floor(x(times[index] ?? 0)) === pixel) {
      const at = level(index);
      least = Math.min(least, at);
      most = Math.max(most, at);
      index += 1;
    }
    const at = here === index - 1 ? x(times[here] ?? 0) : pixel;
    parts.push(`H${at.toFixed(1)}`);
    if (least !== most) parts.push(`V${least.toFixed(1)}V${most.toFixed(1)}`);
    parts.push(`V${level(index - 1).toFixed(1)}`);
  }
  parts.push(`H${x(seen.to_s).toFixed(1)}`);
  return parts.join("");
}

/** The same path, closed down to `floor` to be filled. */
export function filled(path: string, left: number, floor: number): string {
  return path === "" ? "" : `${path}V${floor.toFixed(1)}H${left.toFixed(1)}z`;
}
