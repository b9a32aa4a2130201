// The map on its canvas: holds the window, paints when something changed, and says what it is asked.

import { windowOf, windowText } from "@/views/map/address";
import { lineOf } from "@/views/map/arrange";
import { drawRuler, drawSide, type Frame, frameOf, type Shown } from "@/views/map/furniture";
import { gridTokens } from "@/views/map/grid";
import { drawChosen, drawCursor, drawHover, drawOverview } from "@/views/map/marks";
import { type Bands, Painter, type Scene } from "@/views/map/paint";
import type { Theme } from "@/views/map/palette";
import { clamped, type Extent, fitted, least, lineAt, type Viewport } from "@/views/map/viewport";

/** CSS pixels. */
const LEAST_LINE_AT_FIRST = 4;
const LEAST_FOLDED_LINE = 17;
const GRID_APART = 22;

/** A place of the map: a line of it, the rows that are there, a token. */
export interface Place {
  line: number;
  first: number;
  end: number;
  token: number;
}

export interface Chosen {
  row: number;
  baseline: number;
}

/** What the page hears of. `moved` comes when somebody changed the window. */
export interface Heard {
  moved: () => void;
}

export class Board {
  shown: Shown | null = null;
  frame: Frame;
  view: Viewport = { perToken: 1, perLine: 1, left: 0, top: 0 };
  cursor: Place | null = null;
  hover: Place | null = null;
  chosen: Chosen = { row: -1, baseline: -1 };
  /** Somebody moved the window since it was put where it is. */
  moved = false;
  /** What the address says of the window, as far as the board knows. */
  addressed: string | null = null;
  readonly #pen: CanvasRenderingContext2D;
  #theme: Theme;
  #bands: Bands = "strip";
  #painter = new Painter(1, 1);
  #image = new ImageData(1, 1);
  #overview = new ImageData(1, 1);
  #painted: Viewport | null = null;
  #scene: Scene | null = null;
  #placed = false;
  #asked = 0;
  #size = { width: 1, height: 1, ratio: 1 };

  constructor(
    readonly canvas: HTMLCanvasElement,
    theme: Theme,
    readonly heard: Heard,
  ) {
    const pen = canvas.getContext("2d", { alpha: false });
    if (pen === null) throw new Error("the browser gives no canvas to draw on");
    this.#pen = pen;
    this.#theme = theme;
    this.frame = frameOf(1, 1, 1, false);
  }

  get extent(): Extent {
    const columns = this.shown?.arranged.columns;
    return {
      tokens: columns?.mostTokens ?? 1,
      lines: this.shown?.lines.count ?? 1,
      width: this.frame.width,
      height: this.frame.height,
    };
  }

  /** Show these requests, in the window that is asked for; without one at first all tokens, then where one was. */
  show(shown: Shown, bands: Bands, asked: string | null): void {
    const whole = this.#placed && this.#isWhole();
    if (this.shown?.arranged !== shown.arranged) this.cursor = null;
    this.hover = null;
    this.shown = shown;
    this.#bands = bands;
    if (this.cursor !== null) this.cursor.line = lineOf(shown.lines, this.cursor.first);
    this.#layOut();
    if (!this.moved) this.addressed = asked;
    const wanted = this.moved ? null : windowOf(asked, this.extent);
    if (wanted !== null) this.view = wanted;
    else if (!this.#placed) this.view = this.#atFirst();
    else if (whole) this.view = { ...this.view, perToken: least(this.extent).perToken };
    // Lines that all stand for a group have its name beside them.
    if (shown.folded.size > 0 && shown.folded.size === shown.arranged.groups.length) {
      this.view = { ...this.view, perLine: Math.max(this.view.perLine, LEAST_FOLDED_LINE * this.frame.unit) };
    }
    this.#placed = true;
    this.#changed();
  }

  /** Go where the address says, or to the start where it says nothing, unless it is the board's own word. */
  follow(asked: string | null): void {
    if (asked === this.addressed) return;
    this.addressed = asked;
    this.moved = false;
    this.view = windowOf(asked, this.extent) ?? this.#atFirst();
    this.ask();
  }

  /** The window for the address. */
  said(): string {
    this.addressed = windowText(this.view, this.extent);
    return this.addressed;
  }

  recolour(theme: Theme): void {
    this.#theme = theme;
    this.#changed();
  }

  /** CSS pixels, and device pixels in each. */
  resize(width: number, height: number, ratio: number): void {
    const whole = this.#placed && this.#isWhole();
    this.#size = { width, height, ratio };
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.#layOut();
    if (whole) this.view = { ...this.view, perToken: least(this.extent).perToken };
    this.#changed();
  }

  /** Go to a window; it is brought within the map. */
  go(view: Viewport): void {
    const next = clamped(view, this.extent);
    const now = this.view;
    const same = next.left === now.left && next.top === now.top;
    if (same && next.perToken === now.perToken && next.perLine === now.perLine) return;
    this.view = next;
    this.moved = true;
    this.heard.moved();
    this.ask();
  }

  choose(chosen: Chosen): void {
    this.chosen = chosen;
    this.ask();
  }

  /** What is at these device pixels of the canvas; null outside of the cells. */
  placeAt(x: number, y: number): Place | null {
    const { left, top, width, height } = this.frame;
    if (x < left || y < top || x >= left + width || y >= top + height) return null;
    return this.place(y - top + this.view.top, Math.floor((this.view.left + x - left) / this.view.perToken));
  }

  /** The place at a pixel row of the map; null below the last line. */
  place(y: number, token: number): Place | null {
    const lines = this.shown?.lines;
    if (lines === undefined) return null;
    const line = lineAt(y, this.view.perLine);
    if (line < 0 || line >= lines.count) return null;
    const last = this.view.perLine < 1 ? Math.min(lines.count, line + Math.ceil(1 / this.view.perLine)) : line + 1;
    return { line, first: lines.start[line] ?? 0, end: lines.start[last] ?? 0, token };
  }

  lineOfRow(row: number): number {
    return this.shown === null ? 0 : lineOf(this.shown.lines, row);
  }

  /** Draw in the next frame. */
  ask(): void {
    if (this.#asked === 0) this.#asked = requestAnimationFrame(() => this.#draw());
  }

  leave(): void {
    cancelAnimationFrame(this.#asked);
    this.#asked = 0;
  }

  #atFirst(): Viewport {
    return fitted(this.extent, LEAST_LINE_AT_FIRST * this.frame.unit);
  }

  #isWhole(): boolean {
    return this.view.perToken <= least(this.extent).perToken * 1.0001;
  }

  #layOut(): void {
    const { width, height, ratio } = this.#size;
    this.frame = frameOf(width, height, ratio, (this.shown?.arranged.groups.length ?? 0) > 0);
    if (this.#painter.width === this.frame.width && this.#painter.height === this.frame.height) return;
    this.#image = new ImageData(this.frame.width, this.frame.height);
    this.#painter = new Painter(this.frame.width, this.frame.height, this.#image.data.buffer);
  }

  #changed(): void {
    this.view = clamped(this.view, this.extent);
    this.#painted = null;
    this.#scene = this.shown === null ? null : this.#sceneOf(this.shown);
    if (this.#scene !== null) this.#paintOverview(this.#scene);
    this.ask();
  }

  #sceneOf(shown: Shown): Scene {
    return {
      columns: shown.arranged.columns,
      lines: shown.lines,
      palette: this.#theme.palette,
      bands: this.#bands,
      grid: 1,
      unit: this.frame.unit,
    };
  }

  #paintOverview(scene: Scene): void {
    const { overviewWidth, height } = this.frame;
    this.#overview = new ImageData(Math.max(1, overviewWidth), height);
    const painter = new Painter(this.#overview.width, height, this.#overview.data.buffer);
    const extent = { ...this.extent, width: this.#overview.width };
    // No gridlines and no bands: there is no room for them.
    const plain: Scene = { ...scene, grid: 2 ** 30, bands: scene.bands === "fill" ? "fill" : "off" };
    painter.paint(plain, fitted(extent));
  }

  #draw(): void {
    this.#asked = 0;
    const { shown, view, frame } = this;
    const scene = this.#scene;
    if (shown === null || scene === null) return;
    const { columns } = shown.arranged;
    const before = this.#painted;
    if (before !== null && before.perToken === view.perToken && before.perLine === view.perLine) {
      if (before.left !== view.left || before.top !== view.top) this.#painter.scroll(scene, before, view);
    } else {
      scene.grid = gridTokens(columns.blockSize, view.perToken, GRID_APART * frame.unit);
      this.#painter.paint(scene, view);
    }
    this.#painted = view;
    const pen = this.#pen;
    pen.fillStyle = this.#theme.ground;
    pen.fillRect(frame.left + frame.width, 0, this.canvas.width, this.canvas.height);
    drawRuler(pen, frame, this.#theme, columns, view, this.#activeRow());
    drawSide(pen, frame, this.#theme, shown, view);
    pen.putImageData(this.#image, frame.left, frame.top);
    drawChosen(pen, frame, this.#theme, view, this.#chosenLines());
    if (this.hover !== null) drawHover(pen, frame, this.#theme, view, this.hover);
    if (this.cursor !== null) drawCursor(pen, frame, this.#theme, view, this.cursor, scene.grid);
    drawOverview(pen, frame, this.#theme, view, this.extent, this.#overview);
  }

  /** The row whose sections the ruler names. */
  #activeRow(): number {
    const at = this.hover ?? this.cursor;
    if (at !== null) return at.first;
    if (this.chosen.row >= 0) return this.chosen.row;
    return this.place(this.view.top, 0)?.first ?? -1;
  }

  #chosenLines(): Chosen {
    const line = (row: number) => (row < 0 ? -1 : this.lineOfRow(row));
    return { row: line(this.chosen.row), baseline: line(this.chosen.baseline) };
  }
}
