// Figures with their intervals, and the dots of paired differences.

import type { Schema } from "@/lib/api/client";
import { factor, percent, seconds } from "@/lib/format";

export type Estimate = Schema<"Estimate">;
export type PairRow = Schema<"PairRow">;

/** An interval in words; without bounds there were too few units for one. */
export function interval(estimate: Estimate, shown: (value: number) => string): string {
  return estimate.low === null || estimate.high === null
    ? "no interval: too few units"
    : `${shown(estimate.low)} to ${shown(estimate.high)}`;
}

export const rate = percent;
export const ratio = factor;

export function points(difference: number): string {
  return `${signed(100 * difference, (value) => value.toFixed(1))} points`;
}

export function delta(value: number): string {
  return signed(value, seconds);
}

function signed(value: number, shown: (value: number) => string): string {
  return value > 0 ? `+${shown(value)}` : shown(value).replace("-", "−");
}

export interface Dot {
  /** Where the pair stands among the pairs as the server gave them. */
  row: number;
  id: string;
  delta_s: number;
  before_s: number;
  after_s: number;
}

/** The pairs of which both TTFTs are known, in their order or by rising difference. */
export function dotsOf(pairs: PairRow[], order: "recorded" | "sorted"): Dot[] {
  const dots: Dot[] = [];
  pairs.forEach((pair, row) => {
    if (pair.before_ttft_s === null || pair.after_ttft_s === null) return;
    dots.push({
      row,
      id: pair.id,
      delta_s: pair.after_ttft_s - pair.before_ttft_s,
      before_s: pair.before_ttft_s,
      after_s: pair.after_ttft_s,
    });
  });
  return order === "sorted" ? dots.sort((a, b) => a.delta_s - b.delta_s || a.row - b.row) : dots;
}

/** The least and the most of some values, with room for `also`. */
export function extent(values: number[], ...also: (number | null)[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of [...values, ...also]) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [0, 1] : [low, high];
}

/** A digest in few characters; the whole one is shown where it is approved. */
export function short(sha256: string): string {
  return `${sha256.slice(0, 12)}…`;
}
