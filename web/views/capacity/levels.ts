// Levels across the chart: what no cache size can pass, as recorded and after the fix.

import type { Schema } from "@/lib/api/client";
import type { Simulation } from "./model";

export interface Level {
  name: string;
  rate: number;
}

/**
 * The ceiling of the recorded prompts, and that of the repaired ones: of the document where it was worked out,
 * else the diagnosis' rate if fixed, which is of an unbounded cache. Both simulated.
 */
export function levelsOf(simulation: Simulation, diagnosis: Schema<"Diagnosis"> | null): Level[] {
  const levels = [{ name: "infinite cache, as recorded", rate: simulation.ceiling.hit_rate }];
  const fixed = simulation.if_fixed;
  if (fixed !== null) levels.push({ name: "infinite cache, after the fix", rate: fixed.ceiling.hit_rate });
  else if (diagnosis !== null && diagnosis.input.sha256 === simulation.input.sha256) {
    levels.push({ name: "unbounded cache if fixed, by the diagnosis", rate: diagnosis.hit_rate_if_fixed });
  }
  return levels;
}
