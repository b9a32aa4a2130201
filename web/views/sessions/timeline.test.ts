import { describe, expect, it } from "vitest";
import { endOf, figuresOf, overSeeds, quantile, rowOf, type ServingRow, spread } from "./figures";
import { filled, indexAt, stepPath } from "./series";
import type { Timeline } from "./segments";
import { moved, readSeen, showing, within, zoomed } from "./zoom";

const TIMELINE = {
  trace_sha256: "t",
  scheduling: "fcfs",
  eviction: "lru",
  seed: 1,
  session_completion_s: 12,
  makespan_s: 40,
  measured_from_s: 0,
  sessions: [
    {
      id: "a",
      measured: true,
      arrival_s: [0, 10],
      admitted_s: [1, 14],
      first_token_s: [2, 16],
      end_s: [4, 20],
      prompt_tokens: [100, 100],
      hit_tokens: [0, 80],
      recomputed_tokens: [0, 20],
      reloaded_tokens: [0, 5],
      output_tokens: [3, 3],
      preemptions: [0, 1],
      gap: ["bash", "end"],
    },
    { id: "replaced", measured: false, arrival_s: [0], admitted_s: [1], first_token_s: [2], end_s: [50], prompt_tokens: [9] },
  ],
} as unknown as Timeline;

function row(changes: Partial<ServingRow>): ServingRow {
  const base = { scheduling: "fcfs", eviction: "lru", sessions: 1, seed: 1, session_completion_s: 12 };
  return { ...base, ...changes } as ServingRow;
}

describe("figures", () => {
  it("are counted over requests", () => {
    expect(figuresOf(TIMELINE)).toEqual({
      sessions: 1, requests: 2, completion_s: 12, makespan_s: 40, latency_p50_s: 7, latency_p99_s: 9.94,
      hit_rate: 0.4, prompt_tokens: 200, hit_tokens: 80, recomputed_tokens: 20, reloaded_tokens: 5,
      preemptions: 1, waiting_s: 5,
    });
  });
  it("end with the last request, measured or not", () => expect(endOf(TIMELINE)).toBe(50));
  it("have quantiles linear between neighbours", () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([4, 1, 3, 2], 0.99)).toBeCloseTo(3.97);
    expect(quantile([7], 0.99)).toBe(7);
    expect(quantile([], 0.5)).toBe(0);
  });
  it("takes a row of the very run only", () => {
    const report = (rows: ServingRow[], trace_sha256 = "t") => ({ input: { trace_sha256 }, rows }) as never;
    expect(rowOf(TIMELINE, report([row({ seed: 0 }), row({ session_completion_s: 12.5 })]))).toBeNull();
    expect(rowOf(TIMELINE, report([row({})], "another"))).toBeNull();
    expect(rowOf(TIMELINE, report([row({ eviction: "cachewise" }), row({ session_completion_s: 12.0004 })]))).not.toBeNull();
  });
  it("merges seeds", () => {
    const merged = overSeeds([row({ seed: 0, hit_rate: 0.2 }), row({ sessions: 2 }), row({ hit_rate: 0.4 })]);
    expect(merged.map((entry) => entry.rows.length)).toEqual([2, 1]);
    const { mean, low, high } = spread(merged[0]?.rows ?? [], (entry) => entry.hit_rate);
    expect([mean.toFixed(2), low, high]).toEqual(["0.30", 0.2, 0.4]);
  });
});

describe("series", () => {
  it("finds what holds at a time", () => {
    expect([-1, 0, 5, 10, 99].map((time) => indexAt([0, 10, 20], time))).toEqual([-1, 0, 0, 1, 2]);
  });
  it("is a staircase", () => {
    const path = stepPath([0, 10, 20], [1, 3, 2], { from_s: 0, to_s: 30 }, (time) => time, (value) => 10 - value);
    expect(path).toBe("M0.0 9.0H10.0V7.0H20.0V8.0H30.0");
    expect(filled(path, 0, 10)).toBe(`${path}V10.0H0.0z`);
  });
  it("keeps the extremes of what falls on one pixel", () => {
    const times = Array.from({ length: 5000 }, (_, index) => index);
    const values = times.map((time) => (time === 2222 ? 50 : time % 2));
    const path = stepPath(times, values, { from_s: 0, to_s: 5000 }, (time) => time / 50, (value) => value);
    expect(path).toContain("V50.0");
    expect(path.length).toBeLessThan(4000);
  });
  it("starts with what held before", () => {
    const at = (value: number) => value;
    expect(stepPath([0, 10], [4, 6], { from_s: 5, to_s: 8 }, at, at)).toBe("M5.0 4.0H8.0");
    expect(stepPath([], [], { from_s: 0, to_s: 1 }, at, at)).toBe("");
  });
});

describe("zoom", () => {
  it("stays within the run", () => {
    expect(within({ from_s: -5, to_s: 5 }, 100)).toEqual({ from_s: 0, to_s: 10 });
    expect(within({ from_s: 95, to_s: 115 }, 100)).toEqual({ from_s: 80, to_s: 100 });
    expect(moved({ from_s: 0, to_s: 10 }, -3, 100)).toEqual({ from_s: 0, to_s: 10 });
  });
  it("keeps what is under the pointer where it is", () => {
    expect(zoomed({ from_s: 0, to_s: 100 }, 2, 50, 100)).toEqual({ from_s: 25, to_s: 75 });
    expect(zoomed({ from_s: 20, to_s: 40 }, 0.1, 30, 100)).toEqual({ from_s: 0, to_s: 100 });
  });
  it("moves no further than needed", () => {
    const seen = { from_s: 10, to_s: 20 };
    expect(showing(seen, 12, 14, 100)).toBe(seen);
    expect(showing(seen, 22, 24, 100)).toEqual({ from_s: 14.5, to_s: 24.5 });
    expect(showing(seen, 4, 5, 100)).toEqual({ from_s: 3.5, to_s: 13.5 });
  });
  it("reads addresses that people mistype", () => {
    expect(readSeen("10", "20", 100)).toEqual({ from_s: 10, to_s: 20 });
    for (const [from, to] of [["x", "2"], ["5", "1"], ["500", "600"], [null, null]] as const) {
      expect(readSeen(from, to, 100)).toEqual({ from_s: 0, to_s: 100 });
    }
  });
});
