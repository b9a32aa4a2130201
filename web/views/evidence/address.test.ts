import { describe, expect, it } from "vitest";
import type { Item } from "@/components/Results";
import { askFor, firstOf, isEvidence, readAsked } from "./address";

function item(kind: Item["kind"], id: string, problem: string | null = null): Item {
  return { id, kind, title: "", path: "", modified_s: 0, trace_sha256: null, problem };
}

describe("the address of evidence", () => {
  it("names its kind", () => {
    expect(readAsked(new URLSearchParams("verdict=v1&case=reply"))).toEqual({ kind: "verdict", id: "v1" });
    expect(readAsked(new URLSearchParams("verdict=&canary=c1"))).toEqual({ kind: "canary", id: "c1" });
    expect(readAsked(new URLSearchParams("diagnosis=d1"))).toBeNull();
  });
  it("takes out what belongs to another result", () => {
    const changes = askFor({ kind: "canary", id: "c1" });
    expect(changes).toMatchObject({ canary: "c1", verdict: null, comparison: null, offset: null, case: null });
    expect(changes).not.toHaveProperty("diagnosis");
  });
});

describe("what is shown first", () => {
  it("is what was measured, if it can be shown", () => {
    const items = [item("verdict", "v"), item("comparison", "c0", "cut off"), item("comparison", "c1")];
    expect(firstOf(items)).toEqual({ kind: "comparison", id: "c1" });
    expect(firstOf(items.slice(0, 2))).toEqual({ kind: "verdict", id: "v" });
  });
  it("is something broken rather than nothing", () => {
    expect(firstOf([item("diagnosis", "d"), item("task", "t", "cut off")])).toEqual({ kind: "task", id: "t" });
    expect(firstOf([item("diagnosis", "d")])).toBeNull();
  });
  it("is never what other views show", () => {
    expect(["diagnosis", "timeline", "cache-simulation"].some((kind) => isEvidence(kind as Item["kind"]))).toBe(false);
  });
});
