import { describe, expect, it } from "vitest";
import { barPath, barsOf, gapKind, recomputedShare, segmentAt, segmentsOf, type SessionTimeline } from "./segments";

const SESSION: SessionTimeline = {
  id: "s1",
  measured: true,
  arrival_s: [0, 20, 40],
  admitted_s: [2, 20, 41],
  first_token_s: [6, 24, 42],
  end_s: [10, 30, 50],
  prompt_tokens: [100, 160, 200],
  hit_tokens: [0, 80, 192],
  recomputed_tokens: [0, 40, 0],
  reloaded_tokens: [0, 0, 0],
  output_tokens: [5, 5, 5],
  preemptions: [0, 0, 0],
  gap: ["bash", "human", "end"],
};

describe("segmentsOf", () => {
  it("cuts a session into what it does, without holes or overlaps", () => {
    const segments = segmentsOf(SESSION);
    expect(segments.map((segment) => segment.kind)).toEqual([
      "waiting", "prefill", "decode", "tool",
      "recomputed", "prefill", "decode", "human",
      "waiting", "prefill", "decode",
    ]);
    segments.slice(1).forEach((segment, index) => expect(segment.from_s).toBe(segments[index]?.to_s));
    expect(segments[0]?.from_s).toBe(0);
    expect(segments.at(-1)?.to_s).toBe(50);
  });
  it("shares prefill by tokens", () => {
    expect(recomputedShare(SESSION, 1)).toBe(0.5);
    const again = segmentsOf(SESSION).find((segment) => segment.kind === "recomputed");
    expect(again).toEqual({ kind: "recomputed", request: 1, from_s: 20, to_s: 22 });
  });
  it("never shares out more than there is", () => {
    const odd = { ...SESSION, recomputed_tokens: [900, 900, 900] };
    expect(recomputedShare(odd, 0)).toBe(1);
    expect(recomputedShare({ ...odd, hit_tokens: [100, 160, 200] }, 0)).toBe(0);
  });
  it("has nothing for a session without requests", () => {
    const none = Object.fromEntries(Object.keys(SESSION).map((key) => [key, []]));
    expect(segmentsOf({ ...none, id: "none" } as unknown as SessionTimeline)).toEqual([]);
  });
});

it("names gaps", () => {
  expect(["end", "human", "unknown", "", "pytest"].map(gapKind)).toEqual([null, "human", "idle", "idle", "tool"]);
});

it("finds the segment at a time", () => {
  const segments = segmentsOf(SESSION);
  expect(segmentAt(segments, 1)?.kind).toBe("waiting");
  expect(segmentAt(segments, 10)?.kind).toBe("tool");
  expect(segmentAt(segments, 49.9)?.request).toBe(2);
  expect(segmentAt(segments, 50)).toBeNull();
  expect(segmentAt([], 1)).toBeNull();
});

describe("barsOf", () => {
  it("leaves out what is not seen, and cuts at the edges", () => {
    const bars = barsOf(segmentsOf(SESSION), { from_s: 8, to_s: 25 }, (time) => (time - 8) * 10);
    expect(bars.get("waiting")).toBeUndefined();
    expect(bars.get("decode")).toEqual([{ from: 0, to: 20 }, { from: 160, to: 170 }]);
  });
  it("draws no more bars than pixels", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      kind: index % 2 ? ("decode" as const) : ("prefill" as const),
      request: index,
      from_s: index,
      to_s: index + 1,
    }));
    const bars = barsOf(many, { from_s: 0, to_s: 10_000 }, (time) => time / 100);
    expect(bars.get("decode")?.length).toBe(1);
    expect(bars.get("prefill")).toEqual([{ from: 0, to: 100.98 }]);
  });
  it("becomes a path", () => {
    expect(barPath([{ from: 0, to: 4 }], 9, 10)).toBe("M0.0 4H4.0v10H0.0z");
  });
});
