import { describe, expect, it } from "vitest";
import { windowOf, windowText } from "@/views/map/address";
import { below, random } from "@/views/map/fixtures";
import { gridTokens } from "@/views/map/grid";
import {
  clamped,
  fitted,
  lineAt,
  lineFrom,
  lineTop,
  panned,
  showing,
  type Viewport,
  zoomed,
} from "@/views/map/viewport";

const EXTENT = { tokens: 200_000, lines: 5_000, width: 1_000, height: 600 };

function some(seed: number): Viewport {
  const next = random(seed);
  const view = { perToken: 0.005 * 2 ** below(next, 12), perLine: 0.12 * 2 ** below(next, 8), left: 0, top: 0 };
  return clamped({ ...view, left: below(next, 1e6), top: below(next, 1e5) }, EXTENT);
}

function isWithin(view: Viewport): void {
  expect(Number.isInteger(view.left) && Number.isInteger(view.top)).toBe(true);
  expect(view.left).toBeGreaterThanOrEqual(0);
  expect(view.top).toBeGreaterThanOrEqual(0);
  expect(view.left).toBeLessThanOrEqual(Math.max(0, Math.ceil(EXTENT.tokens * view.perToken) - EXTENT.width));
  expect(view.top).toBeLessThanOrEqual(Math.max(0, Math.ceil(EXTENT.lines * view.perLine) - EXTENT.height));
}

describe("window", () => {
  it("stays within the map whatever is done", () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const next = random(seed);
      let view = some(seed);
      for (let step = 0; step < 8; step += 1) {
        const by = 2 ** (below(next, 5) - 2);
        view =
          step % 2 === 0
            ? zoomed(view, EXTENT, by, by, below(next, 1000), below(next, 600))
            : panned(view, EXTENT, below(next, 4000) - 2000, below(next, 4000) - 2000);
        isWithin(view);
      }
    }
  });

  it("keeps the token under the pointer while zooming", () => {
    const view = { perToken: 0.5, perLine: 4, left: 20_000, top: 4_000 };
    const next = zoomed(view, EXTENT, 2, 2, 300, 200);
    expect((next.left + 300) / next.perToken).toBeCloseTo((view.left + 300) / view.perToken, 0);
    expect((next.top + 200) / next.perLine).toBeCloseTo((view.top + 200) / view.perLine, 0);
  });

  it("shows all of it, or all tokens with lines that can be told apart", () => {
    expect(fitted(EXTENT)).toEqual({ perToken: 0.005, perLine: 0.12, left: 0, top: 0 });
    expect(fitted(EXTENT, 4).perLine).toBe(4);
  });

  it("moves no more than it takes to have a cell in sight", () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const next = random(seed);
      const view = some(seed);
      const token = below(next, EXTENT.tokens);
      const line = below(next, EXTENT.lines);
      const there = showing(view, EXTENT, token, line);
      isWithin(there);
      const x = token * there.perToken - there.left;
      const y = line * there.perLine - there.top;
      expect(x).toBeGreaterThanOrEqual(-1);
      expect(x).toBeLessThanOrEqual(EXTENT.width);
      expect(y).toBeGreaterThanOrEqual(-1);
      expect(y).toBeLessThanOrEqual(EXTENT.height);
      expect(showing(there, EXTENT, token, line)).toEqual(there);
    }
  });

  it("comes back from its address", () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const view = some(seed);
      const back = windowOf(windowText(view, EXTENT), EXTENT);
      expect(back?.perToken).toBeCloseTo(view.perToken, 1);
      expect((back?.left ?? NaN) / (back?.perToken ?? 1)).toBeCloseTo(view.left / view.perToken, -1);
      expect((back?.top ?? NaN) / (back?.perLine ?? 1)).toBeCloseTo(view.top / view.perLine, -1);
    }
  });

  it.each([null, "", "1-2", "5-5,0-1", "a-b,c-d", "9-1,2-3", "0-1,0-1;x"])("%j is no address of one", (text) => {
    expect(windowOf(text, EXTENT)).toBeNull();
  });
});

describe("lines and pixel rows", () => {
  it("each pixel row belongs to the lines that begin in it, or to the one that began before", () => {
    for (const perLine of [0.12, 1 / 3, 0.99, 1, 1.5, 4, 13.7]) {
      for (let y = 0; y < 500; y += 1) {
        const first = lineFrom(y, perLine);
        expect(lineTop(first, perLine)).toBeGreaterThanOrEqual(y);
        expect(first === 0 || lineTop(first - 1, perLine) < y).toBe(true);
        expect(lineTop(lineAt(y, perLine), perLine)).toBeLessThanOrEqual(y);
      }
    }
  });
});

describe("gridlines", () => {
  it("stand on every block, or on every second, fourth, ... so that they are far enough apart", () => {
    expect(gridTokens(16, 4, 20)).toBe(16);
    expect(gridTokens(16, 1, 20)).toBe(32);
    expect(gridTokens(64, 0.005, 20)).toBe(4_096);
  });
});
