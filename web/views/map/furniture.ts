// What stands around the painted cells: the ruler of tokens, the side with times or groups, the overview.

import { count, visible } from "@/lib/format";
import type { Arranged, Lines } from "@/views/map/arrange";
import { lineOf } from "@/views/map/arrange";
import { type Columns, runAt } from "@/views/map/columns";
import { gridTokens } from "@/views/map/grid";
import type { Theme } from "@/views/map/palette";
import { lineAt, lineTop, type Viewport } from "@/views/map/viewport";
import { SECTIONS, shortTime, type SiteNames } from "@/views/map/words";

/** Device pixels: the window of cells within the canvas, and the overview at its right. */
export interface Frame {
  unit: number;
  left: number;
  top: number;
  width: number;
  height: number;
  overviewLeft: number;
  overviewWidth: number;
}

export interface Shown {
  arranged: Arranged;
  lines: Lines;
  folded: ReadonlySet<string>;
  names: SiteNames;
}

type Pen = CanvasRenderingContext2D;

const FONT = "system-ui, sans-serif";

export function frameOf(cssWidth: number, cssHeight: number, ratio: number, grouped: boolean): Frame {
  const unit = Math.max(1, Math.round(ratio));
  const narrow = cssWidth < 640;
  const side = Math.round((grouped ? (narrow ? 96 : 168) : narrow ? 62 : 84) * ratio);
  const overview = Math.round((narrow ? 40 : 84) * ratio);
  const between = Math.round(8 * ratio);
  const top = Math.round(44 * ratio);
  return {
    unit,
    left: side,
    top,
    width: Math.max(1, Math.round(cssWidth * ratio) - side - overview - between),
    height: Math.max(1, Math.round(cssHeight * ratio) - top),
    overviewLeft: Math.round(cssWidth * ratio) - overview,
    overviewWidth: overview,
  };
}

export function drawRuler(pen: Pen, frame: Frame, theme: Theme, columns: Columns, view: Viewport, row: number): void {
  const { unit, left, top, width } = frame;
  pen.fillStyle = theme.ground;
  pen.fillRect(0, 0, frame.overviewLeft, top);
  pen.font = `${11 * unit}px ${FONT}`;
  pen.textBaseline = "alphabetic";
  pen.textAlign = "right";
  pen.fillStyle = theme.dim;
  pen.fillText("token", left - 6 * unit, 13 * unit);
  if (row >= 0) pen.fillText("sections", left - 6 * unit, 38 * unit);
  pen.textAlign = "center";
  const step = gridTokens(columns.blockSize, view.perToken, 84 * unit);
  const first = Math.max(0, Math.floor(view.left / view.perToken / step));
  for (let mark = first; ; mark += 1) {
    const x = Math.floor(mark * step * view.perToken) - view.left;
    if (x > width) break;
    if (x < 0) continue;
    pen.fillStyle = theme.line;
    pen.fillRect(left + x, 18 * unit, unit, 6 * unit);
    const text = count(mark * step);
    const half = pen.measureText(text).width / 2;
    if (x + half > width || left + x - half < left - 2 * unit) {
      if (mark !== 0) continue;
      pen.textAlign = "left";
      pen.fillStyle = theme.text;
      pen.fillText(text, left + x, 13 * unit);
      pen.textAlign = "center";
      continue;
    }
    pen.fillStyle = theme.text;
    pen.fillText(text, left + x, 13 * unit);
  }
  if (row >= 0) drawBand(pen, frame, theme, columns, view, row);
}

/** The sections of one row, named where there is room. */
function drawBand(pen: Pen, frame: Frame, theme: Theme, columns: Columns, view: Viewport, row: number): void {
  const { unit, left, width } = frame;
  const { kind, end, start } = columns.sections;
  const last = start[row + 1] ?? 0;
  let run = runAt(columns.sections, row, Math.floor(view.left / view.perToken));
  let from = run === start[row] ? 0 : (end[run - 1] ?? 0);
  pen.textAlign = "left";
  for (; run < last; run += 1) {
    const to = end[run] ?? 0;
    const x0 = Math.max(0, Math.floor(from * view.perToken) - view.left);
    const x1 = Math.min(width, Math.floor(to * view.perToken) - view.left);
    from = to;
    if (x0 >= width) return;
    if (x1 <= x0) continue;
    pen.fillStyle = theme.sections[kind[run] ?? 4] ?? theme.dim;
    pen.fillRect(left + x0, 27 * unit, x1 - x0, 14 * unit);
    const name = SECTIONS[kind[run] ?? 4] ?? "";
    if (x1 - x0 < (name.length * 6.5 + 8) * unit) continue;
    pen.fillStyle = theme.ground;
    pen.fillText(name, left + x0 + 4 * unit, 38 * unit);
  }
}

/** Times where requests stand by time, else the names of groups, kept in sight while any of the group is. */
export function drawSide(pen: Pen, frame: Frame, theme: Theme, shown: Shown, view: Viewport): void {
  const { left, top, height } = frame;
  pen.fillStyle = theme.ground;
  pen.fillRect(0, top, left, height);
  pen.font = `${11 * frame.unit}px ${FONT}`;
  if (shown.arranged.groups.length === 0) drawTimes(pen, frame, theme, shown, view);
  else drawGroups(pen, frame, theme, shown, view);
}

function drawTimes(pen: Pen, frame: Frame, theme: Theme, shown: Shown, view: Viewport): void {
  const { unit, left, top, height } = frame;
  const { columns } = shown.arranged;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const every = Math.max(1, 2 ** Math.ceil(Math.log2((26 * unit) / view.perLine)));
  const first = Math.floor(lineAt(view.top, view.perLine) / every) * every;
  let above = "";
  for (let line = first; line < shown.lines.count; line += every) {
    const y = (line + (view.perLine >= unit ? 0.5 : 0)) * view.perLine - view.top;
    if (y > height - 6 * unit) return;
    if (y < 6 * unit) continue;
    const row = shown.lines.start[line] ?? 0;
    const text = shortTime(columns.timeS[row] ?? NaN, columns.index[row] ?? 0);
    pen.fillStyle = theme.line;
    pen.fillRect(left - 5 * unit, top + Math.floor(y), 4 * unit, unit);
    pen.fillStyle = theme.dim;
    if (text !== above) pen.fillText(text, left - 9 * unit, top + y);
    above = text;
  }
}

function drawGroups(pen: Pen, frame: Frame, theme: Theme, shown: Shown, view: Viewport): void {
  const { unit, left, top, height, width } = frame;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  let free = 0;
  for (const group of shown.arranged.groups) {
    const y0 = lineTop(lineOf(shown.lines, group.start), view.perLine) - view.top;
    const y1 = lineTop(lineOf(shown.lines, group.end - 1) + 1, view.perLine) - view.top;
    if (y0 >= height) return;
    if (y1 <= 0) continue;
    if (y0 > 0 && y1 - y0 >= 12 * unit) {
      pen.fillStyle = theme.line;
      pen.fillRect(0, top + y0, left, unit);
      pen.fillStyle = theme.dim;
      if (!shown.folded.has(group.name)) pen.fillRect(left, top + y0, width, unit);
    }
    const y = Math.max(0, y0, free);
    if (Math.min(height, y1) - y < 13 * unit) continue;
    free = y + 15 * unit;
    const name = visible(shown.names.get(group.name) ?? group.name, 60);
    pen.fillStyle = theme.text;
    pen.fillText(shown.folded.has(group.name) ? "▸" : "▾", 2 * unit, top + y + 8 * unit);
    pen.fillText(cut(pen, name, left - 20 * unit), 15 * unit, top + y + 8 * unit);
    if (Math.min(height, y1) - y < 29 * unit) continue;
    free = y + 30 * unit;
    pen.fillStyle = theme.dim;
    const held = group.end - group.start;
    pen.fillText(`${count(held)} ${held === 1 ? "request" : "requests"}`, 15 * unit, top + y + 23 * unit);
  }
}

const CUTS = new Map<string, string>();

/** `text` with its end left out where it is wider than `most`; remembered, as it is asked for in every frame. */
function cut(pen: Pen, text: string, most: number): string {
  const key = `${most}:${pen.font}:${text}`;
  const known = CUTS.get(key);
  if (known !== undefined) return known;
  let kept = text;
  while (kept.length > 1 && pen.measureText(kept === text ? kept : `${kept}…`).width > most) {
    kept = kept.slice(0, -1);
  }
  const fits = kept === text ? text : `${kept}…`;
  if (CUTS.size > 2_000) CUTS.clear();
  CUTS.set(key, fits);
  return fits;
}
