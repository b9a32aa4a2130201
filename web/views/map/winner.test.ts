import { describe, expect, it } from "vitest";
import { NOTHING, winner } from "@/views/map/winner";

const of = (...shares: number[]) => Float64Array.from({ length: 6 }, (_, kind) => shares[kind] ?? 0);

describe("what a pixel shows", () => {
  it("is the kind with the most tokens, the first of two with as many, nothing without tokens", () => {
    expect(winner(of(1, 0, 0, 3), true)).toBe(3);
    expect(winner(of(2, 0, 2), true)).toBe(0);
    expect(winner(of(), true)).toBe(NOTHING);
  });

  it("is a loss from a twentieth on, and not below", () => {
    expect(winner(of(0.95, 0, 0, 0, 0.05), true)).toBe(4);
    expect(winner(of(0.96, 0, 0, 0, 0.04), true)).toBe(0);
    expect(winner(of(0.9, 0, 0, 0, 0.04, 0.06), true)).toBe(5);
  });

  it("knows no losses among sections", () => {
    expect(winner(of(0.8, 0, 0, 0, 0.2), false)).toBe(0);
  });
});
