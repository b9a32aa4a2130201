// What the painter must paint, said as plainly as possible; for tests.

import type { Runs } from "@/views/map/columns";
import type { Scene } from "@/views/map/paint";
import type { Viewport } from "@/views/map/viewport";
import { KINDS, NOTHING, winner } from "@/views/map/winner";

/** The kind that column `column` shows of the rows from `first` to `end`: its tokens are added up one by one. */
export function naiveCode(
  runs: Runs,
  first: number,
  end: number,
  perToken: number,
  column: number,
  losses: boolean,
): number {
  const shares = new Float64Array(KINDS);
  for (let row = first; row < end; row += 1) {
    let before = 0;
    for (let run = runs.start[row] ?? 0; run < (runs.start[row + 1] ?? 0); run += 1) {
      const kind = runs.kind[run] ?? 0;
      for (let token = before; token < (runs.end[run] ?? 0); token += 1) {
        const seen = Math.min(column + 1, (token + 1) * perToken) - Math.max(column, token * perToken);
        if (seen > 0) shares[kind] = (shares[kind] ?? 0) + seen;
      }
      before = runs.end[run] ?? 0;
    }
  }
  return winner(shares, losses);
}

/** Colour of the pixel (`x`, `y`) of the window, for lines of at most a pixel and without gridlines. */
export function naivePixel(scene: Scene, view: Viewport, x: number, y: number): number {
  const { columns, lines, palette } = scene;
  const fill = scene.bands === "fill";
  const there: number[] = [];
  for (let line = 0; line < lines.count; line += 1) {
    if (Math.floor(line * view.perLine) === view.top + y) there.push(line);
  }
  const first = there[0];
  const last = there.at(-1);
  if (first === undefined || last === undefined) return palette.ground;
  const code = naiveCode(
    fill ? columns.sections : columns.fates,
    lines.start[first] ?? 0,
    lines.start[last + 1] ?? 0,
    view.perToken,
    view.left + x,
    !fill,
  );
  if (code === NOTHING) return palette.ground;
  return (fill ? palette.sections : palette.fates)[code] ?? 0;
}
