// What a chart says about one place on its x axis.

export interface Line {
  name: string;
  values: readonly (number | null)[];
  /** A CSS variable of the palette, say "--fate-hit". */
  colour: string;
  /** Dashes and gaps in pixels: lines are told apart without colour, too. */
  dash?: readonly number[];
  /** Each value holds until the next one. */
  stepped?: boolean;
  /** Points are shown: they are what was worked out, the line between them only joins them. */
  points?: boolean;
}

export interface Axis {
  name: string;
  format: (value: number) => string;
  log?: boolean;
  from?: number;
  to?: number;
}

/** "8,192 blocks: lru 56.0%, belady 61.2%" */
export function readout(x: Axis, y: Axis, at: number, lines: readonly Line[], index: number): string {
  const values = lines.flatMap((line) => {
    const value = line.values[index];
    return value === null || value === undefined ? [] : [`${line.name} ${y.format(value)}`];
  });
  return `${x.format(at)}: ${values.length === 0 ? "nothing" : values.join(", ")}`;
}

/** Where a key leads on an axis of `length` places; null: it is none of the cursor's. */
export function moved(key: string, at: number, length: number): number | null {
  if (length === 0) return null;
  const leap = Math.max(1, Math.round(length / 10));
  const there: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - leap,
    PageUp: at + leap,
    Home: 0,
    End: length - 1,
  };
  const to = there[key];
  return to === undefined ? null : Math.min(length - 1, Math.max(0, to));
}

const MOST_ROWS = 200;

/** Which places a table of a chart shows: all, or at most 200 spread evenly, the first and the last among them. */
export function shown(length: number): number[] {
  if (length <= MOST_ROWS) return Array.from({ length }, (_, index) => index);
  return Array.from({ length: MOST_ROWS }, (_, row) => Math.round((row * (length - 1)) / (MOST_ROWS - 1)));
}
