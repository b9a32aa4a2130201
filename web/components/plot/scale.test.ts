import { describe, expect, it } from "vitest";
import { brief, clock, clockLabel, doubling, linear } from "@/components/plot/scale";

describe("linear", () => {
  it("goes to pixels and back", () => {
    const scale = linear(0, 50, 100, 300);
    expect(scale.at(25)).toBe(200);
    expect(scale.value(200)).toBe(25);
  });
  it("has round ticks within the domain", () => {
    expect(linear(0, 1, 0, 100, 5).ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(linear(0.03, 0.97, 0, 100, 5).ticks).toEqual([0.2, 0.4, 0.6, 0.8]);
  });
  it("survives an empty domain", () => {
    expect(linear(3, 3, 0, 100).at(3)).toBe(0);
    expect(Number.isFinite(linear(3, 3, 0, 0).value(5))).toBe(true);
  });
});

describe("doubling", () => {
  it("puts equal factors at equal distances", () => {
    const scale = doubling(64, 1024, 0, 400);
    expect(scale.at(128)).toBeCloseTo(100);
    expect(scale.at(512)).toBeCloseTo(300);
    expect(scale.value(200)).toBeCloseTo(256);
  });
  it("thins powers of two", () => {
    expect(doubling(64, 1024, 0, 400).ticks).toEqual([64, 128, 256, 512, 1024]);
    expect(doubling(70, 1 << 20, 0, 400, 5).ticks).toEqual([128, 1024, 8192, 65536, 524288]);
  });
  it("survives a single capacity", () => {
    expect(doubling(512, 512, 0, 100).at(512)).toBe(0);
  });
});

describe("clock", () => {
  it("has ticks at minutes", () => {
    expect(clock(0, 600, 0, 800, 6).ticks).toEqual([0, 120, 240, 360, 480, 600]);
  });
  it("falls back to decimals for short spans", () => {
    expect(clock(0, 1, 0, 800, 5).ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  });
  it("is labelled in a unit that fits", () => {
    expect(clockLabel(7200, 20_000)).toBe("2 h");
    expect(clockLabel(90, 600)).toBe("1.5 min");
    expect(clockLabel(30, 60)).toBe("30 s");
    expect(clockLabel(0.25, 1)).toBe("250 ms");
  });
});

it("writes large counts briefly", () => {
  expect([950, 9999, 16_384, 999_960, 2_097_152].map(brief)).toEqual(["950", "9999", "16.4k", "1M", "2.1M"]);
});
