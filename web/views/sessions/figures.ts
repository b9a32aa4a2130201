// Figures of a run, from its timeline and, where the folder has it, from the row of its serving simulation.

import type { Schema } from "@/lib/api/client";
import { requestsIn, type Timeline } from "./segments";

export type ServingRow = Schema<"keepwarm_serving_row_Row">;

export interface RunFigures {
  sessions: number;
  requests: number;
  completion_s: number;
  makespan_s: number;
  latency_p50_s: number;
  latency_p99_s: number;
  hit_rate: number;
  prompt_tokens: number;
  hit_tokens: number;
  recomputed_tokens: number;
  reloaded_tokens: number;
  preemptions: number;
  waiting_s: number;
}

/** Linear between neighbours, as in the rows of a serving simulation; 0 of none. */
export function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * Math.max(sorted.length - 1, 0);
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.floor(place) + 1] ?? below;
  return below + (place - Math.floor(place)) * (above - below);
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Over the measured sessions, as in the row of the run. */
export function figuresOf(timeline: Timeline): RunFigures {
  const latencies: number[] = [];
  const totals = { prompt: 0, hit: 0, recomputed: 0, reloaded: 0, preemptions: 0, waiting: 0 };
  const measured = timeline.sessions.filter((session) => session.measured);
  for (const session of measured) {
    session.arrival_s.forEach((arrival, index) => {
      latencies.push((session.end_s[index] ?? arrival) - arrival);
      totals.waiting += (session.admitted_s[index] ?? arrival) - arrival;
    });
    totals.prompt += sum(session.prompt_tokens);
    totals.hit += sum(session.hit_tokens);
    totals.recomputed += sum(session.recomputed_tokens);
    totals.reloaded += sum(session.reloaded_tokens);
    totals.preemptions += sum(session.preemptions);
  }
  return {
    sessions: measured.length,
    requests: sum(measured.map(requestsIn)),
    completion_s: timeline.session_completion_s,
    makespan_s: timeline.makespan_s,
    latency_p50_s: quantile(latencies, 0.5),
    latency_p99_s: quantile(latencies, 0.99),
    hit_rate: totals.prompt === 0 ? 0 : totals.hit / totals.prompt,
    prompt_tokens: totals.prompt,
    hit_tokens: totals.hit,
    recomputed_tokens: totals.recomputed,
    reloaded_tokens: totals.reloaded,
    preemptions: totals.preemptions,
    waiting_s: totals.waiting,
  };
}

/**
 * The row that a timeline was recorded for: the same order, eviction, seed and mean completion. A row that
 * only resembles it is none, for its figures would be another run's.
 */
export function rowOf(timeline: Timeline, report: Schema<"ServingReport">): ServingRow | null {
  if (report.input.trace_sha256 !== timeline.trace_sha256) return null;
  const same = (row: ServingRow) =>
    row.scheduling === timeline.scheduling &&
    row.eviction === timeline.eviction &&
    row.seed === timeline.seed &&
    Math.abs(row.session_completion_s - timeline.session_completion_s) <= 1e-4 * timeline.session_completion_s;
  return report.rows.find(same) ?? null;
}

export interface Spread {
  mean: number;
  low: number;
  high: number;
}

export interface MergedRow {
  key: string;
  scheduling: string;
  eviction: string;
  sessions: number;
  rows: ServingRow[];
}

/** Rows of one order, eviction and number of sessions, over their seeds; in the order they come. */
export function overSeeds(rows: ServingRow[]): MergedRow[] {
  const merged = new Map<string, MergedRow>();
  for (const row of rows) {
    const key = `${row.scheduling} ${row.eviction} ${row.sessions}`;
    const found = merged.get(key);
    if (found !== undefined) found.rows.push(row);
    else {
      const { scheduling, eviction, sessions } = row;
      merged.set(key, { key, scheduling, eviction, sessions, rows: [row] });
    }
  }
  return [...merged.values()];
}

/** When the last request of a run has ended. */
export function endOf(timeline: Timeline): number {
  const ends = timeline.sessions.map((session) => session.end_s.at(-1) ?? 0);
  return Math.max(timeline.measured_from_s + timeline.makespan_s, ...ends, 0.001);
}

/** The mean over seeds, with the least and the most. */
export function spread(rows: ServingRow[], of: (row: ServingRow) => number): Spread {
  const values = rows.map(of);
  return { mean: sum(values) / (values.length || 1), low: Math.min(...values), high: Math.max(...values) };
}
