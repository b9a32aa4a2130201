import type { Schema } from "@/lib/api/client";

// The six fates of a prompt token: never merged, and each told apart by a letter and a pattern as well.

export type Fate = Exclude<keyof Schema<"TokenFates">, "prompt">;

export interface FateKind {
  fate: Fate;
  letter: string;
  meaning: string;
}

export const FATES: readonly FateKind[] = [
  { fate: "hit", letter: "H", meaning: "served from the cache" },
  { fate: "forced", letter: "F", meaning: "recomputed, because vLLM always recomputes at least the last token" },
  { fate: "partial", letter: "P", meaning: "in a trailing part-block, which is never cached" },
  { fate: "cold", letter: "C", meaning: "new to everyone" },
  { fate: "diverged", letter: "D", meaning: "seen before, but behind a break" },
  { fate: "evicted", letter: "E", meaning: "was cached, lost to capacity" },
];

export interface Stretch extends FateKind {
  tokens: number;
  /** Where it starts, and how long it is, as a share of the prompt tokens (0 to 1). */
  start: number;
  share: number;
}

/** The fates that occur, one after another; their shares add up to 1. */
export function stretches(tokens: Schema<"TokenFates">): Stretch[] {
  if (tokens.prompt <= 0) return [];
  let start = 0;
  return FATES.flatMap((kind) => {
    const share = tokens[kind.fate] / tokens.prompt;
    const stretch = { ...kind, tokens: tokens[kind.fate], start, share };
    start += share;
    return share > 0 ? [stretch] : [];
  });
}
