// What is drawn over the painted cells: the chosen request and its baseline, crosshair, cursor, overview.

import type { Chosen, Place } from "@/views/map/board";
import type { Frame } from "@/views/map/furniture";
import type { Theme } from "@/views/map/palette";
import { type Extent, lineTop, type Viewport } from "@/views/map/viewport";

type Pen = CanvasRenderingContext2D;

const DASHES: number[] = [];
const NO_DASHES: number[] = [];

/** Lines of the chosen request (framed, ▶) and of its baseline (dashed, B); -1 where there is none. */
export function drawChosen(pen: Pen, frame: Frame, theme: Theme, view: Viewport, lines: Chosen): void {
  pen.save();
  clip(pen, frame, frame.left);
  if (lines.baseline >= 0) drawFrame(pen, frame, theme, view, lines.baseline, true);
  if (lines.row >= 0) drawFrame(pen, frame, theme, view, lines.row, false);
  pen.restore();
}

function drawFrame(pen: Pen, frame: Frame, theme: Theme, view: Viewport, line: number, dashed: boolean): void {
  const { unit, left, top, width, height } = frame;
  const y0 = lineTop(line, view.perLine) - view.top;
  const y1 = Math.max(y0 + unit, lineTop(line + 1, view.perLine) - view.top);
  if (y1 < -unit || y0 > height + unit) return;
  DASHES[0] = DASHES[1] = 6 * unit;
  pen.setLineDash(dashed ? DASHES : NO_DASHES);
  // Thin where lines are low, so that the neighbours stay in sight.
  const thick = y1 - y0 < 8 * unit ? unit : 2 * unit;
  const out = thick / 2;
  for (const [colour, broad] of [
    [theme.ground, 2 * thick],
    [theme.text, thick],
  ] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = broad;
    pen.strokeRect(left - 3 * unit - out, top + y0 - out, width + 6 * unit + thick, y1 - y0 + thick);
  }
  const x = left - (dashed ? 20 : 6) * unit;
  const y = top + (y0 + y1) / 2;
  pen.fillStyle = theme.ground;
  pen.fillRect(x - 12 * unit, y - 7 * unit, 14 * unit, 14 * unit);
  pen.fillStyle = theme.text;
  pen.font = `bold ${11 * unit}px system-ui, sans-serif`;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillText(dashed ? "B" : "▶", x, y + unit);
}

/** A cross of hairlines through the place. */
export function drawHover(pen: Pen, frame: Frame, theme: Theme, view: Viewport, place: Place): void {
  const { unit, left, top, width, height } = frame;
  const x = Math.floor((place.token + 0.5) * view.perToken) - view.left;
  const y = Math.floor((place.line + (view.perLine < 1 ? 0 : 0.5)) * view.perLine) - view.top;
  pen.fillStyle = theme.text;
  pen.globalAlpha = 0.6;
  if (x >= 0 && x < width) pen.fillRect(left + x, top, unit, height);
  if (y >= 0 && y < height) pen.fillRect(left, top + y, width, unit);
  pen.globalAlpha = 1;
}

/** The cell that the keyboard is at: from one gridline to the next. */
export function drawCursor(
  pen: Pen,
  frame: Frame,
  theme: Theme,
  view: Viewport,
  place: Place,
  grid: number,
): void {
  const { unit, left, top } = frame;
  pen.save();
  clip(pen, frame, 0);
  const from = Math.floor(place.token / grid) * grid;
  const x0 = Math.floor(from * view.perToken) - view.left;
  const x1 = Math.floor((from + grid) * view.perToken) - view.left;
  const y0 = lineTop(place.line, view.perLine) - view.top;
  const y1 = Math.max(y0 + unit, lineTop(place.line + 1, view.perLine) - view.top);
  for (const [colour, broad] of [
    [theme.ground, 5],
    [theme.accent, 3],
  ] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = broad * unit;
    pen.strokeRect(left + x0 - unit, top + y0 - unit, x1 - x0 + 2 * unit, y1 - y0 + 2 * unit);
  }
  pen.restore();
}

/** All of the map, small, with the window framed. */
export function drawOverview(
  pen: Pen,
  frame: Frame,
  theme: Theme,
  view: Viewport,
  extent: Extent,
  image: ImageData,
): void {
  const { unit, overviewLeft, overviewWidth, top, height } = frame;
  pen.putImageData(image, overviewLeft, top);
  const { width: tokens, height: lines } = overviewOf(extent);
  const x = (view.left / (extent.tokens * view.perToken)) * overviewWidth;
  const y = (view.top / (extent.lines * view.perLine)) * lines;
  const w = Math.min(1, extent.width / (extent.tokens * view.perToken)) * tokens * overviewWidth;
  const h = Math.min(1, extent.height / (extent.lines * view.perLine)) * lines;
  const thin = 2 * unit;
  pen.strokeStyle = theme.line;
  pen.lineWidth = unit;
  pen.strokeRect(overviewLeft + unit / 2, top + unit / 2, overviewWidth - unit, height - unit);
  for (const [colour, broad] of [
    [theme.ground, 4],
    [theme.text, 2],
  ] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = broad * unit;
    pen.strokeRect(
      Math.floor(overviewLeft + x) + unit,
      Math.floor(top + y) + unit,
      Math.max(thin, Math.min(w, overviewWidth - x) - 2 * unit),
      Math.max(thin, Math.min(h, height - y) - 2 * unit),
    );
  }
}

/** How much of the overview's height the lines take: few of them do not fill it. Width 1: all of it. */
export function overviewOf(extent: Extent): { width: number; height: number } {
  const perLine = Math.min(24, extent.height / Math.max(1, extent.lines));
  return { width: 1, height: perLine * extent.lines };
}

function clip(pen: Pen, frame: Frame, beyond: number): void {
  pen.beginPath();
  pen.rect(frame.left - beyond, frame.top, frame.width + beyond + 4 * frame.unit, frame.height);
  pen.clip();
}
