// Made-up maps for tests.

import type { Lines } from "@/views/map/arrange";
import { lines } from "@/views/map/arrange";
import type { Columns, Runs } from "@/views/map/columns";
import type { Palette } from "@/views/map/paint";

/** Random numbers that are the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function below(next: () => number, most: number): number {
  return Math.floor(next() * most);
}

function someRuns(lengths: readonly number[], kinds: number, next: () => number): Runs {
  const start = [0];
  const kind: number[] = [];
  const end: number[] = [];
  for (const length of lengths) {
    let at = 0;
    while (at < length) {
      at = Math.min(length, at + 1 + below(next, next() < 0.5 ? 3 : 40));
      kind.push(below(next, kinds));
      end.push(at);
    }
    start.push(kind.length);
  }
  return { start: Int32Array.from(start), kind: Uint8Array.from(kind), end: Int32Array.from(end) };
}

/** Rows of up to `most` tokens in stretches of all kinds. */
export function someColumns(rows: number, most: number, seed: number): Columns {
  const next = random(seed);
  const lengths = Array.from({ length: rows }, () => below(next, most + 1));
  return {
    rows,
    total: rows,
    blockSize: 16,
    mostTokens: most,
    index: Int32Array.from(lengths, (_, row) => row),
    ids: lengths.map((_, row) => `r${row}`),
    promptTokens: Int32Array.from(lengths),
    timeS: Float64Array.from(lengths, (_, row) => row),
    session: Int32Array.from(lengths, () => below(next, 3)),
    callSite: Int32Array.from(lengths, () => below(next, 2)),
    cause: Int32Array.from(lengths, () => below(next, 3) - 1),
    breakToken: Int32Array.from(lengths, (length) => below(next, length + 1) - 1),
    fates: someRuns(lengths, 6, next),
    sections: someRuns(lengths, 5, next),
    sessions: ["s0", "s1", "s2"],
    callSites: ["one", "two"],
    causes: ["clock", "random-id"],
  };
}

export const PALETTE: Palette = {
  fates: Uint32Array.of(10, 11, 12, 13, 14, 15),
  sections: Uint32Array.of(20, 21, 22, 23, 24),
  ground: 1,
  line: 2,
  text: 3,
};

export function allLines(rows: number): Lines {
  return lines(rows, [], new Set());
}
