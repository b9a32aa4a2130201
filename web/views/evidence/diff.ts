// What changed between two texts, word by word.

export type Change = "same" | "removed" | "added";

export interface Part {
  change: Change;
  text: string;
}

const WORDS = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
/** Beyond so many changed words texts are told apart as wholes: nobody reads such a difference word by word. */
const MOST_CHANGES = 2_000;

export function words(text: string): string[] {
  return text.match(WORDS) ?? [];
}

/** The parts of both texts in order; without the added ones they are `before`, without the removed ones `after`. */
export function wordDiff(before: string, after: string): Part[] {
  const a = words(before);
  const b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) {
    tail += 1;
  }
  const middle = shortest(a.slice(start, a.length - tail), b.slice(start, b.length - tail));
  return joined([
    ...a.slice(0, start).map((text): Part => ({ change: "same", text })),
    ...middle,
    ...a.slice(a.length - tail).map((text): Part => ({ change: "same", text })),
  ]);
}

/** Of one text only: the same and the removed, or the same and the added parts. */
export function sideOf(parts: Part[], side: "before" | "after"): Part[] {
  const left = side === "before" ? "added" : "removed";
  return joined(parts.filter((part) => part.change !== left));
}

function joined(parts: Part[]): Part[] {
  const result: Part[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (last?.change === part.change) last.text += part.text;
    else if (part.text !== "") result.push({ ...part });
  }
  return result;
}

/** The fewest removals and additions that make `a` into `b`, found greedily along diagonals (Myers, 1986). */
function shortest(a: string[], b: string[]): Part[] {
  const whole: Part[] = [
    { change: "removed", text: a.join("") },
    { change: "added", text: b.join("") },
  ];
  if (a.length === 0 || b.length === 0) return whole;
  const most = Math.min(a.length + b.length, MOST_CHANGES);
  const furthest = new Int32Array(2 * most + 3);
  const trail: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes += 1) {
    trail.push(furthest.slice(most + 1 - changes - 1, most + 1 + changes + 2));
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = step(furthest, most + 1, diagonal, changes);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      furthest[most + 1 + diagonal] = x;
      if (x >= a.length && x - diagonal >= b.length) return back(a, b, trail, changes);
    }
  }
  return whole;
}

/** Where a path with one more change comes onto a diagonal: from above by an addition, or by a removal. */
function step(furthest: Int32Array, middle: number, diagonal: number, changes: number): number {
  const above = furthest[middle + diagonal + 1] ?? 0;
  const beside = furthest[middle + diagonal - 1] ?? 0;
  return diagonal === -changes || (diagonal !== changes && beside < above) ? above : beside + 1;
}

function back(a: string[], b: string[], trail: Int32Array[], changes: number): Part[] {
  const parts: Part[] = [];
  let x = a.length;
  let y = b.length;
  for (let left = changes; left >= 0; left -= 1) {
    const before = trail[left] ?? new Int32Array();
    const diagonal = x - y;
    const middle = left + 1;
    const added =
      diagonal === -left ||
      (diagonal !== left && (before[middle + diagonal - 1] ?? 0) < (before[middle + diagonal + 1] ?? 0));
    const from = added ? diagonal + 1 : diagonal - 1;
    const x0 = left === 0 ? 0 : (before[middle + from] ?? 0);
    const y0 = left === 0 ? 0 : x0 - from;
    while (x > x0 && y > y0) {
      x -= 1;
      y -= 1;
      parts.push({ change: "same", text: a[x] ?? "" });
    }
    if (left === 0) break;
    if (added) parts.push({ change: "added", text: b[y0] ?? "" });
    else parts.push({ change: "removed", text: a[x0] ?? "" });
    x = x0;
    y = y0;
  }
  return parts.reverse();
}
