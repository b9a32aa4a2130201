import type { Schema } from "@/lib/api/client";

// Whether a value differs from the one in the row before. What a mask covers looks equal: then only its number says.

type Aligned = Schema<"AlignedRequest">;
export type Change = "first" | "same" | "differs" | "unknown" | "absent";

export function change(row: Aligned, before: Aligned | undefined, slot: string): Change {
  const value = row.values[slot];
  if (value === undefined) return "absent";
  const earlier = before?.values[slot];
  if (earlier === undefined) return "first";
  if (value !== earlier) return "differs";
  const [number, earlierNumber] = [row.variants[slot], before?.variants[slot]];
  if (number !== undefined && earlierNumber !== undefined) return number === earlierNumber ? "same" : "differs";
  return isCut(value) ? "unknown" : "same";
}

function isCut(value: string): boolean {
  return value.endsWith("…") || /‹[^‹›]*›/.test(value);
}
