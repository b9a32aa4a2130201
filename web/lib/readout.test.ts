import { describe, expect, it } from "vitest";
import { moved, readout, shown } from "@/lib/readout";

describe("a chart's cursor", () => {
  it("stays on the axis", () => {
    expect(moved("ArrowLeft", 0, 5)).toBe(0);
    expect(moved("ArrowRight", 3, 5)).toBe(4);
    expect(moved("End", 0, 5)).toBe(4);
    expect(moved("PageUp", 0, 100)).toBe(10);
    expect(moved("a", 0, 5)).toBeNull();
    expect(moved("End", 0, 0)).toBeNull();
  });

  it("says every line that has a value there", () => {
    const axis = { name: "blocks", format: (value: number) => `${value} blocks` };
    const rate = { name: "hit rate", format: (value: number) => `${value}%` };
    const lines = [
      { name: "lru", values: [10, null], colour: "--a" },
      { name: "belady", values: [20, null], colour: "--b" },
    ];
    expect(readout(axis, rate, 512, lines, 0)).toBe("512 blocks: lru 10%, belady 20%");
    expect(readout(axis, rate, 512, lines, 1)).toBe("512 blocks: nothing");
  });
});

describe("the table of a chart", () => {
  it("holds all of a short one, and both ends of a long one", () => {
    expect(shown(3)).toEqual([0, 1, 2]);
    const rows = shown(10_001);
    expect(rows).toHaveLength(200);
    expect([rows[0], rows.at(-1)]).toEqual([0, 10_000]);
    expect(new Set(rows).size).toBe(200);
  });
});
