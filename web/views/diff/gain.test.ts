import { describe, expect, it } from "vitest";
import { growth, signed } from "@/views/diff/gain";
import { nearest } from "@/views/diff/nearest";

describe("what a layout gives", () => {
  it("counts prompts that grew against it", () => {
    const before = { prompt_tokens: 100, hit_tokens: 10, hit_rate: 0.1 };
    expect(growth(before, { prompt_tokens: 100, hit_tokens: 60, hit_rate: 0.6 })).toBe(-50);
    expect(growth(before, { prompt_tokens: 160, hit_tokens: 60, hit_rate: 0.375 })).toBe(10);
  });

  it("has a sign", () => {
    expect([signed(-1234), signed(0), signed(5)]).toEqual(["−1,234", "0", "+5"]);
  });
});

describe("the nearest place", () => {
  const places = [
    { gap: 0, x: 10, y: 10 },
    { gap: 1, x: 300, y: 10 },
    { gap: 2, x: 10, y: 30 },
  ];
  it("is one of the same line, though another is closer", () => {
    expect(nearest(places, 80, 11)).toBe(0);
    expect(nearest(places, 280, 12)).toBe(1);
    expect(nearest(places, 60, 31)).toBe(2);
    expect(nearest([], 0, 0)).toBeNull();
  });
});
