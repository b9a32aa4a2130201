import { describe, expect, it } from "vitest";
import { levelsOf } from "./levels";
import { binsOf, chosenPolicies, curvesOf, gibOf, policiesOf, recordedOf, type Row, type Simulation, sizesOf, styleOf, turned } from "./model";

function row(policy: string, capacity_blocks: number, hit_rate: number, changes: object = {}): Row {
  return { policy, capacity_blocks, hit_rate, recorded_hits: null, reuse_after_eviction_histogram: null, ...changes } as Row;
}

function simulation(changes: object): Simulation {
  const cache = { bytes_per_block: null };
  return { rows: [], curve: null, sampled_curve: null, if_fixed: null, cache, ...changes } as unknown as Simulation;
}

const POINT = (capacity_blocks: number, hit_rate: number) => ({ capacity_blocks, hit_rate, hit_tokens: 0 });
const CURVE = {
  policies: [
    { policy: "lru", points: [POINT(10, 0.1), POINT(20, 0.2)], sizes: [{ percent_of_ceiling: 90, capacity_blocks: 20 }] },
    { policy: "belady", points: [POINT(10, 0.3), POINT(20, 0.4)], sizes: [{ percent_of_ceiling: 90, capacity_blocks: null }] },
  ],
};

describe("policies", () => {
  it("are named once, in the document's order", () => {
    const rows = [row("lru", 1, 0), row("lru", 2, 0), row("sieve", 1, 0)];
    expect(policiesOf(simulation({ rows, curve: CURVE }))).toEqual(["lru", "belady", "sieve"]);
  });
  it("are chosen by the address, all where it chooses none", () => {
    expect(chosenPolicies(["lru", "belady"], "belady,gone")).toEqual(["belady"]);
    expect(chosenPolicies(["lru", "belady"], "gone")).toEqual(["lru", "belady"]);
    expect(chosenPolicies(["lru", "belady"], null)).toEqual(["lru", "belady"]);
  });
  it("are turned on and off; the last one stays", () => {
    expect(turned(["a", "b", "c"], ["a", "b", "c"], "b")).toBe("a,c");
    expect(turned(["a", "b", "c"], ["a", "c"], "b")).toBeNull();
    expect(turned(["a", "b"], ["a"], "a")).toBeNull();
  });
  it("are drawn apart, whichever are chosen", () => {
    const all = ["lru", "belady", "computecache", "sieve", "slru", "lfu", "s3fifo", "cachewise"];
    const styles = all.map((policy) => JSON.stringify(styleOf(all, policy)));
    expect(new Set(styles).size).toBe(all.length);
  });
});

describe("curves", () => {
  it("come from the curve, with what a fix would change", () => {
    const fixed = { curve: { policies: [{ policy: "lru", points: [POINT(20, 0.9), POINT(40, 0.95)], sizes: [] }] } };
    const { at_blocks, lines, from } = curvesOf(simulation({ curve: CURVE, if_fixed: fixed }), ["lru"]);
    expect([from, at_blocks]).toEqual(["curve", [10, 20, 40]]);
    expect(lines.map((line) => [line.name, line.values])).toEqual([
      ["lru", [0.1, 0.2, null]],
      ["lru, after the fix", [null, 0.9, 0.95]],
    ]);
  });
  it("come from a sample with its error", () => {
    const points = [{ ...POINT(10, 0.02), error: 0.05 }, { ...POINT(20, 0.5), error: 0.05 }];
    const { lines, from } = curvesOf(simulation({ sampled_curve: { points } }), []);
    expect(from).toBe("sample");
    expect(lines.map((line) => line.values[0])).toEqual([0.02, 0, 0.07]);
  });
  it("come from rows where there is no curve", () => {
    const { at_blocks, lines } = curvesOf(simulation({ rows: [row("a", 20, 0.2), row("a", 10, 0.1), row("b", 20, 0.4)] }), ["a", "b"]);
    expect(at_blocks).toEqual([10, 20]);
    expect(lines.map((line) => line.values)).toEqual([[0.1, 0.2], [null, 0.4]]);
  });
});

it("lists sizes, those that were not reached as such", () => {
  expect(sizesOf(simulation({ curve: CURVE }), ["belady"])).toEqual([
    { policy: "belady", sizes: [{ percent_of_ceiling: 90, capacity_blocks: null }] },
  ]);
});

it("counts memory only where the model is known", () => {
  expect(gibOf(simulation({}), 8)).toBeNull();
  expect(gibOf(simulation({ cache: { bytes_per_block: 2 ** 20 } }), 512)).toBe(0.5);
});

it("holds recorded hits against simulated ones", () => {
  const recorded_hits = { requests: 2, query_tokens: 1000, recorded_tokens: 300, simulated_tokens: 320, residual_tokens: -20, equal_requests: 1, worst: [] };
  const [found, ...rest] = recordedOf([row("lru", 10, 0.3, { recorded_hits }), row("lru", 20, 0.4)]);
  expect(rest).toEqual([]);
  expect([found?.recorded_rate, found?.simulated_rate, found?.residual_points]).toEqual([0.3, 0.32, -2]);
});

it("opens histograms by powers of two", () => {
  const reuse_after_eviction_histogram = { up_to_blocks: [1, 3, 7], blocks: [5, 0, 2] };
  expect(binsOf(row("lru", 10, 0.3, { reuse_after_eviction_histogram }))).toEqual([
    { from_blocks: 1, to_blocks: 1, blocks: 5 },
    { from_blocks: 2, to_blocks: 3, blocks: 0 },
    { from_blocks: 4, to_blocks: 7, blocks: 2 },
  ]);
  expect(binsOf(row("lru", 10, 0.3))).toBeNull();
});

describe("levels", () => {
  const recorded = { ceiling: { hit_rate: 0.5 }, input: { sha256: "t" } };
  const diagnosis = (sha256: string) => ({ input: { sha256 }, hit_rate_if_fixed: 0.8 }) as never;

  it("take the document's own ceiling after the fix", () => {
    const fixed = simulation({ ...recorded, if_fixed: { ceiling: { hit_rate: 0.9 }, curve: null } });
    expect(levelsOf(fixed, diagnosis("t")).map((level) => level.rate)).toEqual([0.5, 0.9]);
  });
  it("else the diagnosis' rate, of the same trace only, and say whose it is", () => {
    const levels = levelsOf(simulation(recorded), diagnosis("t"));
    expect(levels[1]).toEqual({ name: "unbounded cache if fixed, by the diagnosis", rate: 0.8 });
    expect(levelsOf(simulation(recorded), diagnosis("another"))).toHaveLength(1);
    expect(levelsOf(simulation(recorded), null)).toHaveLength(1);
  });
});
