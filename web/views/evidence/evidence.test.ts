import { describe, expect, it } from "vitest";
import type { Schema } from "@/lib/api/client";
import { approvables, fieldErrors } from "./approvable";
import { figuresText, floodSteps, runsOf } from "./canary";
import { quoted, verifyCommand } from "./command";
import { delta, dotsOf, extent, interval, type PairRow, points } from "./figures";

const VERDICT = {
  base: "aaa",
  head: "bbb",
  inputs: {
    task: { name: "task.json", sha256: "" },
    before: { name: "before it.jsonl", sha256: "" },
    after: null,
    golden: [],
    approvals: null,
    tests: "python3 -m unittest 'x'",
  },
  options: { tokenizer: null, chat_template: null, block_size: 16, capacity_blocks: null },
  answers: [
    {
      check: "golden-cases",
      problems: [{ where: "reply", what: "changed", next_step: "look", approvable_sha256: "1".repeat(64) }],
    },
    {
      check: "source-scope",
      problems: [
        { where: "a.py", what: "not allowed", next_step: "", approvable_sha256: "2".repeat(64) },
        { where: "b.py", what: "never", next_step: "", approvable_sha256: null },
      ],
    },
  ],
  approvals_used: [],
  approvals_unused: [],
} as unknown as Schema<"Verdict">;

describe("verify again", () => {
  it("quotes what a shell would take apart", () => {
    expect(quoted("plain/path.json")).toBe("plain/path.json");
    expect(quoted("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(quoted("")).toBe("''");
  });
  it("says what was given, and no more", () => {
    expect(verifyCommand(VERDICT, "verdict/approvals.json")).toBe(
      "keepwarm verify --repo REPO --base aaa --head bbb --task task.json --before 'before it.jsonl' " +
        "--golden GOLDEN --tests 'python3 -m unittest '\\''x'\\''' --block-size 16 --approve verdict/approvals.json",
    );
  });
});

describe("approvables", () => {
  const approval = (sha256: string) => ({ check: "golden-cases", case: "reply", sha256, approver: "A", reason: "r" });
  const output = { check: "golden-cases", case: "reply", about: "", sha256: "1".repeat(64), before: [], after: { text: "", tool_calls: [] } };
  const answer = (changes: object) =>
    ({ verdict: VERDICT, outputs: [{ output, approval: null }], approvals: [], ...changes }) as unknown as Schema<"VerdictAnswer">;

  it("lists outputs once, and what else may be approved", () => {
    const found = approvables(answer({}));
    expect(found.map((entry) => [entry.check, entry.case])).toEqual([["golden-cases", "reply"], ["source-scope", "a.py"]]);
    expect(found.map((entry) => entry.after === null)).toEqual([false, true]);
  });
  it("keeps an approval of something else apart", () => {
    const found = approvables(answer({ approvals: [approval("9".repeat(64))] }));
    expect(found[0]?.approval).toBeNull();
    expect(found[0]?.stale?.sha256).toBe("9".repeat(64));
  });
  it("finds approvals of what has no output", () => {
    const given = { ...approval("2".repeat(64)), check: "source-scope", case: "a.py" };
    expect(approvables(answer({ approvals: [given] }))[1]?.approval).toBe(given);
  });
  it("asks for a name and a reason", () => {
    expect(Object.keys(fieldErrors(" ", ""))).toEqual(["approver", "reason"]);
    expect(fieldErrors("A", "looked at it")).toEqual({});
  });
});

describe("figures", () => {
  it("have intervals, or say why not", () => {
    expect(interval({ value: 0.5, low: 0.4, high: 0.6 }, String)).toBe("0.4 to 0.6");
    expect(interval({ value: 0.5, low: null, high: null }, String)).toBe("no interval: too few units");
  });
  it("have signs where they are differences", () => {
    expect([points(0.7609), points(-0.01), delta(-1.0275), delta(0.02)]).toEqual([
      "+76.1 points",
      "−1.0 points",
      "−1.03 s",
      "+20 ms",
    ]);
  });
  it("leaves out pairs without both times, and sorts", () => {
    const pair = (id: string, before: number | null, after: number | null) =>
      ({ id, before_ttft_s: before, after_ttft_s: after }) as PairRow;
    const pairs = [pair("a", 2, 1), pair("b", 1, null), pair("c", 2, 3), pair("d", 4, 1)];
    expect(dotsOf(pairs, "recorded").map((dot) => [dot.id, dot.row])).toEqual([["a", 0], ["c", 2], ["d", 3]]);
    expect(dotsOf(pairs, "sorted").map((dot) => dot.delta_s)).toEqual([-3, -1, 1]);
  });
  it("have an extent even where there are none", () => {
    expect(extent([], null)).toEqual([0, 1]);
    expect(extent([3, -1], 0, null)).toEqual([-1, 3]);
  });
});

describe("canary", () => {
  const run = (mode: string, steps: number[]) => ({
    plugin: { mode },
    pressure: { steps: steps.map((flood_requests) => ({ flood_requests, cached_tokens: 10 })) },
  });
  it("puts steps beside each other", () => {
    const record = { baseline: run("lru", [1, 2, 4]), candidate: null, drill: { run: run("lru", [1, 4]) } };
    const runs = runsOf(record as unknown as Schema<"CanaryRecord">);
    expect(runs.map((entry) => entry.name)).toEqual(["baseline: lru", "after rollback: lru"]);
    const steps = floodSteps(runs);
    expect(steps.map((step) => step.flood_requests)).toEqual([1, 2, 4]);
    expect(steps[1]?.steps[1]).toBeNull();
  });
  it("writes figures", () => {
    expect(figuresText({ budget: 1.05, first_after: null, differing: "", hot_tokens: 0 })).toBe("budget 1.05, hot tokens 0");
  });
});
