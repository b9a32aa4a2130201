// Paints the visible part of the map into pixels; what was painted before is moved, only the rest is painted.

import type { Lines } from "@/views/map/arrange";
import { Codes } from "@/views/map/codes";
import type { Columns } from "@/views/map/columns";
import { lineAt, lineFrom, lineTop, type Viewport } from "@/views/map/viewport";
import { FIRST_LOST, NOTHING } from "@/views/map/winner";

/** Colours as the bytes of a pixel in memory. */
export interface Palette {
  fates: Uint32Array;
  sections: Uint32Array;
  ground: number;
  line: number;
  text: number;
}

export type Bands = "off" | "strip" | "fill";

/** What is painted; `unit` is the device pixels of a CSS pixel, whole, and `grid` the tokens between gridlines. */
export interface Scene {
  columns: Columns;
  lines: Lines;
  palette: Palette;
  bands: Bands;
  grid: number;
  unit: number;
}

/** Heights of a line, in CSS pixels, from which on it has these. */
export const GAP_FROM = 5;
export const PATTERN_FROM = 8;
export const STRIP_FROM = 7;
export const TICK_FROM = 6;
const PERIOD = 6;

/** Part of the window: columns from `x0` to `x1`, rows from `y0` to `y1`. */
interface Part {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export class Painter {
  readonly pixels: Uint32Array;
  readonly #codes: Codes;
  readonly #cells: Uint8Array;
  readonly #bands: Uint8Array;
  readonly #row: Uint32Array;
  readonly #span = { perToken: 1, from: 0, count: 0 };
  readonly #part: Part = { x0: 0, x1: 0, y0: 0, y1: 0 };

  constructor(
    readonly width: number,
    readonly height: number,
    buffer: ArrayBufferLike = new ArrayBuffer(4 * width * height),
  ) {
    this.pixels = new Uint32Array(buffer, 0, width * height);
    this.#codes = new Codes(width + 2);
    this.#cells = new Uint8Array(width + 2);
    this.#bands = new Uint8Array(width + 2);
    this.#row = new Uint32Array(width);
  }

  paint(scene: Scene, view: Viewport): void {
    this.#paint(scene, view, 0, this.width, 0, this.height);
  }

  /** As `paint`, where the pixels show `before` in the same scene and scale. */
  scroll(scene: Scene, before: Viewport, view: Viewport): void {
    const { width, height } = this;
    const x = view.left - before.left;
    const y = view.top - before.top;
    if (Math.abs(x) >= width || Math.abs(y) >= height) {
      this.paint(scene, view);
      return;
    }
    this.#move(x, y);
    const y0 = y < 0 ? -y : 0;
    const y1 = y > 0 ? height - y : height;
    this.#paint(scene, view, 0, width, 0, y0);
    this.#paint(scene, view, 0, width, y1, height);
    if (x > 0) this.#paint(scene, view, width - x, width, y0, y1);
    if (x < 0) this.#paint(scene, view, 0, -x, y0, y1);
  }

  /** One move of the whole memory; what wraps around at the sides is painted afterwards. */
  #move(x: number, y: number): void {
    const shift = y * this.width + x;
    if (shift > 0) this.pixels.copyWithin(0, shift);
    else if (shift < 0) this.pixels.copyWithin(-shift, 0, this.pixels.length + shift);
  }

  #paint(scene: Scene, view: Viewport, x0: number, x1: number, y0: number, y1: number): void {
    if (x1 <= x0) return;
    const part = this.#part;
    part.x0 = x0;
    part.x1 = x1;
    let y = y0;
    while (y < y1) {
      const at = view.top + y;
      const many = view.perLine < 1;
      const first = many ? lineFrom(at, view.perLine) : lineAt(at, view.perLine);
      const end = many ? lineFrom(at + 1, view.perLine) : first + 1;
      if (first >= scene.lines.count) {
        this.#blank(scene, x0, x1, y, y1);
        return;
      }
      part.y0 = y;
      part.y1 = many ? y + 1 : Math.min(y1, lineTop(end, view.perLine) - view.top);
      this.#lines(scene, view, first, Math.min(end, scene.lines.count), part);
      y = part.y1;
    }
  }

  #blank(scene: Scene, x0: number, x1: number, y0: number, y1: number): void {
    for (let y = y0; y < y1; y += 1) {
      this.pixels.fill(scene.palette.ground, y * this.width + x0, y * this.width + x1);
    }
  }

  #lines(scene: Scene, view: Viewport, first: number, end: number, part: Part): void {
    const { columns, lines, bands, palette, unit } = scene;
    const from = lines.start[first] as number;
    const to = lines.start[end] as number;
    const span = this.#span;
    // A column more on either side, for what depends on a neighbour.
    span.perToken = view.perToken;
    span.from = view.left + part.x0 - 1;
    span.count = part.x1 - part.x0 + 2;
    const fill = bands === "fill";
    this.#codes.write(fill ? columns.sections : columns.fates, from, to, span, !fill, this.#cells);
    this.#colour(scene, view, part, fill);
    const height = view.perLine < 1 ? 1 : lineTop(end, view.perLine) - lineTop(first, view.perLine);
    const gap = view.perLine >= GAP_FROM * unit ? unit : 0;
    const strip = bands === "strip" && view.perLine >= STRIP_FROM * unit ? Math.max(2 * unit, height >> 2) : 0;
    const patterned = !fill && view.perLine >= PATTERN_FROM * unit;
    const top = lineTop(first, view.perLine) - view.top;
    const row = this.#row.subarray(0, part.x1 - part.x0);
    for (let y = part.y0; y < part.y1; y += 1) {
      const within = y - top;
      const at = y * this.width + part.x0;
      if (within >= height - gap) {
        this.pixels.fill(palette.ground, at, at + row.length);
      } else if (within < height - gap - strip) {
        this.pixels.set(row, at);
        if (patterned) this.#pattern(scene, view, part, y);
      }
    }
    if (strip > 0) this.#strip(scene, from, to, part, top + height - gap - strip, top + height - gap);
    if (to - from === 1 && view.perLine >= TICK_FROM * unit) {
      this.#tick(scene, view, columns.breakToken[from] as number, part, top, top + height - gap);
    }
  }

  /** Colours of the cells with the gridlines; a line that would hide a loss of one pixel is left out. */
  #colour(scene: Scene, view: Viewport, part: Part, fill: boolean): void {
    const { palette, grid } = scene;
    const colours = fill ? palette.sections : palette.fates;
    const cells = this.#cells;
    const row = this.#row;
    const count = part.x1 - part.x0;
    for (let x = 0; x < count; x += 1) {
      const code = cells[x + 1] as number;
      row[x] = code === NOTHING ? palette.ground : (colours[code] as number);
    }
    const from = view.left + part.x0;
    for (let line = Math.max(1, Math.ceil(from / (grid * view.perToken)) - 1); ; line += 1) {
      const x = Math.floor(line * grid * view.perToken) - from;
      if (x >= count) return;
      if (x < 0) continue;
      const code = cells[x + 1] as number;
      if (code === NOTHING) row[x] = palette.line;
      else if (fill || code < FIRST_LOST || (cells[x] === code && cells[x + 2] === code)) row[x] = palette.ground;
    }
  }

  /** Marks within diverged and evicted cells, the same as in the legend. */
  #pattern(scene: Scene, view: Viewport, part: Part, y: number): void {
    const { unit, palette } = scene;
    const period = PERIOD * unit;
    const v = Math.floor(((view.top + y) % period) / unit);
    const at = y * this.width + part.x0;
    let phase = (view.left + part.x0) % period;
    for (let x = 0; x < part.x1 - part.x0; x += 1) {
      const code = this.#cells[x + 1] as number;
      if (code >= FIRST_LOST && code !== NOTHING && marked(code, Math.floor(phase / unit), v)) {
        this.pixels[at + x] = palette.ground;
      }
      phase += 1;
      if (phase === period) phase = 0;
    }
  }

  #strip(scene: Scene, from: number, to: number, part: Part, y0: number, y1: number): void {
    const { columns, palette } = scene;
    const top = Math.max(part.y0, y0);
    const bottom = Math.min(part.y1, y1);
    if (top >= bottom) return;
    this.#codes.write(columns.sections, from, to, this.#span, false, this.#bands);
    const row = this.#row.subarray(0, part.x1 - part.x0);
    for (let x = 0; x < row.length; x += 1) {
      const code = this.#bands[x + 1] as number;
      row[x] = code === NOTHING ? palette.ground : (palette.sections[code] as number);
    }
    for (let y = top; y < bottom; y += 1) this.pixels.set(row, y * this.width + part.x0);
  }

  /** The break: an upright line at its token, with a broad head. */
  #tick(scene: Scene, view: Viewport, token: number, part: Part, y0: number, y1: number): void {
    if (token < 0) return;
    const { unit, palette } = scene;
    const centre = Math.floor(token * view.perToken) - view.left;
    for (let y = Math.max(part.y0, y0); y < Math.min(part.y1, y1); y += 1) {
      const reach = y - y0 < 2 * unit ? 3 * unit : unit;
      const from = Math.max(part.x0, centre - reach);
      const to = Math.min(part.x1, centre + reach);
      if (from < to) this.pixels.fill(palette.text, y * this.width + from, y * this.width + to);
    }
  }
}

/** Stripes for diverged, dots for evicted. */
function marked(code: number, u: number, v: number): boolean {
  if (code === FIRST_LOST) return (u + v) % PERIOD === PERIOD - 1;
  return (u % 3 === 1 || u % 3 === 2) && (v % 3 === 1 || v % 3 === 2) && u < 3 === v < 3;
}
