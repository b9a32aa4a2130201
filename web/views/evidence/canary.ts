// The runs of a canary beside each other, step by step of the flood.

import type { Schema } from "@/lib/api/client";

type Run = Schema<"keepwarm_canary_runs_Run">;
type Step = Schema<"PressureStep">;

export interface CanaryRun {
  name: string;
  run: Run;
}

/** Baseline, candidate and rollback, as far as there are any; named by the mode that they ran in. */
export function runsOf(record: Schema<"CanaryRecord">): CanaryRun[] {
  const named: [string, Run | null][] = [
    [`baseline: ${record.baseline.plugin.mode}`, record.baseline],
    [`candidate: ${record.candidate?.plugin.mode ?? "none"}`, record.candidate],
    [`after rollback: ${record.drill.run?.plugin.mode ?? "none"}`, record.drill.run],
  ];
  return named.flatMap(([name, run]) => (run === null ? [] : [{ name, run }]));
}

export interface FloodStep {
  flood_requests: number;
  /** One entry a run; null where the run has no such step. */
  steps: (Step | null)[];
}

export function floodSteps(runs: CanaryRun[]): FloodStep[] {
  const counts = new Set(runs.flatMap(({ run }) => run.pressure.steps.map((step) => step.flood_requests)));
  return [...counts]
    .sort((a, b) => a - b)
    .map((flood_requests) => ({
      flood_requests,
      steps: runs.map(
        ({ run }) => run.pressure.steps.find((step) => step.flood_requests === flood_requests) ?? null,
      ),
    }));
}

/** The figures of a check as text, names and values in their order. */
export function figuresText(figures: Record<string, number | string | null>): string {
  return Object.entries(figures)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${String(value)}`)
    .join(", ");
}
