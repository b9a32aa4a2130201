import type { Schema } from "@/lib/api/client";
import { count } from "@/lib/format";

type Tally = Schema<"Tally">;

/** Tokens that no cache had. */
export function computed(tally: Tally): number {
  return tally.prompt_tokens - tally.hit_tokens;
}

/** By how many tokens the work grew; below 0: it shrank. Prompts that grew are counted in, unlike in hit tokens. */
export function growth(before: Tally, after: Tally): number {
  return computed(after) - computed(before);
}

export function signed(tokens: number): string {
  return tokens === 0 ? "0" : `${tokens < 0 ? "−" : "+"}${count(Math.abs(tokens))}`;
}
