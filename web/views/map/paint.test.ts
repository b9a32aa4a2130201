import { describe, expect, it } from "vitest";
import { lines } from "@/views/map/arrange";
import { Codes } from "@/views/map/codes";
import { allLines, below, PALETTE, random, someColumns } from "@/views/map/fixtures";
import { naiveCode, naivePixel } from "@/views/map/naive";
import { Painter, type Scene } from "@/views/map/paint";
import type { Viewport } from "@/views/map/viewport";

// Powers of two: sums of shares are exact then, in whatever order they are added.
const SCALES = [1 / 32, 1 / 8, 1 / 2, 1, 4];

function scene(rows: number, most: number, seed: number, more: Partial<Scene> = {}): Scene {
  const columns = someColumns(rows, most, seed);
  const plain = { palette: PALETTE, bands: "off", grid: 1 << 20, unit: 1 } as const;
  return { columns, lines: allLines(rows), ...plain, ...more };
}

function painted(what: Scene, view: Viewport, width: number, height: number): Painter {
  const painter = new Painter(width, height);
  painter.paint(what, view);
  return painter;
}

describe("codes of columns", () => {
  it("are those of adding token by token, for one row and for several", () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const next = random(seed + 1);
      const columns = someColumns(7, 300, seed);
      const codes = new Codes(64);
      const out = new Uint8Array(64);
      const first = below(next, 7);
      const end = first + 1 + below(next, 7 - first);
      const span = {
        perToken: SCALES[seed % SCALES.length] ?? 1,
        from: below(next, 40) - 1,
        count: 1 + below(next, 63),
      };
      for (const losses of [true, false]) {
        codes.write(columns.fates, first, end, span, losses, out);
        const naive = Array.from({ length: span.count }, (_, column) =>
          naiveCode(columns.fates, first, end, span.perToken, span.from + column, losses),
        );
        expect([...out.subarray(0, span.count)], `seed ${seed}`).toEqual(naive);
      }
    }
  });
});

describe("painter", () => {
  it("paints each pixel as the naive painter does, many lines to a pixel", () => {
    for (let seed = 0; seed < 12; seed += 1) {
      const next = random(seed + 7);
      const groups = [{ name: "g", start: 3, end: 9 }];
      const folded = new Set(seed % 2 === 0 ? ["g"] : []);
      const what = scene(40, 200, seed, {
        lines: lines(40, groups, folded),
        bands: seed % 3 === 0 ? "fill" : "off",
      });
      const view = {
        perToken: SCALES[seed % 3] ?? 1,
        perLine: [0.25, 0.3, 0.7, 1][seed % 4] ?? 1,
        left: below(next, 5),
        top: below(next, 4),
      };
      const painter = painted(what, view, 23, 17);
      for (let y = 0; y < 17; y += 1) {
        for (let x = 0; x < 23; x += 1) {
          expect(painter.pixels[y * 23 + x], `seed ${seed} at ${x}, ${y}`).toBe(naivePixel(what, view, x, y));
        }
      }
    }
  });

  it("paints the same by moving as anew", () => {
    for (let seed = 0; seed < 80; seed += 1) {
      const next = random(seed + 3);
      const what = scene(60, 400, seed, {
        bands: (["off", "strip", "fill"] as const)[seed % 3] ?? "off",
        grid: 16 << below(next, 3),
        unit: 1 + below(next, 2),
      });
      const before = {
        perToken: [0.13, 0.5, 1, 3.3][below(next, 4)] ?? 1,
        perLine: [0.2, 0.9, 1, 2.5, 6, 13.7][below(next, 6)] ?? 1,
        left: below(next, 60),
        top: below(next, 60),
      };
      const painter = painted(what, before, 61, 47);
      const view = { ...before, left: below(next, 90), top: below(next, 80) };
      painter.scroll(what, before, view);
      expect(painter.pixels, `seed ${seed}`).toEqual(painted(what, view, 61, 47).pixels);
    }
  });

  it("does not let a lost block vanish among many others", () => {
    const columns = someColumns(1, 10, 1);
    columns.fates = { start: Int32Array.of(0, 3), kind: Uint8Array.of(0, 4, 0), end: Int32Array.of(160, 176, 320) };
    const what = scene(1, 10, 1, { columns, grid: 16 });
    const { pixels } = painted(what, { perToken: 1 / 128, perLine: 1, left: 0, top: 0 }, 3, 1);
    expect([...pixels]).toContain(PALETTE.fates[4]);
  });

  it("marks the break, the bands and the gap between lines, and leaves the rest of the window empty", () => {
    const columns = someColumns(1, 10, 1);
    columns.fates = { start: Int32Array.of(0, 1), kind: Uint8Array.of(0), end: Int32Array.of(10) };
    columns.sections = { start: Int32Array.of(0, 1), kind: Uint8Array.of(3), end: Int32Array.of(10) };
    columns.breakToken = Int32Array.of(5);
    const what = scene(1, 10, 1, { columns, bands: "strip" });
    const { pixels } = painted(what, { perToken: 2, perLine: 12, left: 0, top: 0 }, 24, 16);
    const column = (x: number) => Array.from({ length: 16 }, (_, y) => pixels[y * 24 + x]);
    expect(column(2)).toEqual([...Array<number>(8).fill(10), 23, 23, 23, ...Array<number>(5).fill(1)]);
    expect(column(10).slice(0, 11)).toEqual(Array(11).fill(PALETTE.text));
    expect(column(22)).toEqual(Array(16).fill(PALETTE.ground));
  });
});
