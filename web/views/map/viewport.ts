// Where one looks: a window of whole device pixels into the map, so that scrolling moves pixels and blends none.

export interface Viewport {
  /** Device pixels of a token and of a line; below 1 several fall into one pixel. */
  perToken: number;
  perLine: number;
  /** The window's upper left corner in the map, in whole device pixels. */
  left: number;
  top: number;
}

export interface Extent {
  tokens: number;
  lines: number;
  width: number;
  height: number;
}

export const MOST_PER_TOKEN = 32;
export const MOST_PER_LINE = 48;

export function least(extent: Extent): { perToken: number; perLine: number } {
  return {
    perToken: Math.min(MOST_PER_TOKEN, extent.width / Math.max(1, extent.tokens)),
    perLine: Math.min(MOST_PER_LINE / 2, extent.height / Math.max(1, extent.lines)),
  };
}

/** Within the map: not smaller than all of it, not beyond its edges. */
export function clamped(view: Viewport, extent: Extent): Viewport {
  const low = least(extent);
  const perToken = between(view.perToken, low.perToken, MOST_PER_TOKEN);
  const perLine = between(view.perLine, low.perLine, MOST_PER_LINE);
  const most = (size: number, window: number) => Math.max(0, Math.ceil(size) - window);
  return {
    perToken,
    perLine,
    left: between(Math.round(view.left), 0, most(extent.tokens * perToken, extent.width)),
    top: between(Math.round(view.top), 0, most(extent.lines * perLine, extent.height)),
  };
}

function between(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high));
}

/** All of it; or all tokens, with lines of at least `perLine` device pixels. */
export function fitted(extent: Extent, perLine = 0): Viewport {
  const low = least(extent);
  return clamped({ perToken: low.perToken, perLine: Math.max(low.perLine, perLine), left: 0, top: 0 }, extent);
}

/** Larger by `x` and `y` with the token and line at the window's pixel (`px`, `py`) kept there. */
export function zoomed(
  view: Viewport,
  extent: Extent,
  x: number,
  y: number,
  px: number,
  py: number,
): Viewport {
  const low = least(extent);
  const perToken = between(view.perToken * x, low.perToken, MOST_PER_TOKEN);
  const perLine = between(view.perLine * y, low.perLine, MOST_PER_LINE);
  return clamped(
    {
      perToken,
      perLine,
      left: ((view.left + px) * perToken) / view.perToken - px,
      top: ((view.top + py) * perLine) / view.perLine - py,
    },
    extent,
  );
}

export function panned(view: Viewport, extent: Extent, x: number, y: number): Viewport {
  return clamped({ ...view, left: view.left + x, top: view.top + y }, extent);
}

/** Moved as little as it takes to have the token and the line in the window, `margin` pixels from its edges. */
export function showing(view: Viewport, extent: Extent, token: number, line: number, margin = 24): Viewport {
  const x = into(view.left, extent.width, token * view.perToken, (token + 1) * view.perToken, margin);
  const y = into(view.top, extent.height, line * view.perLine, (line + 1) * view.perLine, 0);
  return clamped({ ...view, left: x, top: y }, extent);
}

function into(at: number, window: number, from: number, to: number, margin: number): number {
  if (from - margin < at) return from - margin;
  if (to + margin > at + window) return to + margin - window;
  return at;
}

/** Pixel row of the map at which a line begins. */
export function lineTop(line: number, perLine: number): number {
  return Math.floor(line * perLine);
}

/** The first line that begins at pixel row `y` of the map or below it. */
export function lineFrom(y: number, perLine: number): number {
  let line = Math.ceil(y / perLine);
  while (line > 0 && lineTop(line - 1, perLine) >= y) line -= 1;
  while (lineTop(line, perLine) < y) line += 1;
  return line;
}

/** The line that pixel row `y` of the map shows; the first where there are several. */
export function lineAt(y: number, perLine: number): number {
  const line = lineFrom(y, perLine);
  return lineTop(line, perLine) === y ? line : line - 1;
}
