// From values to pixels, and the values worth a line on an axis.

import { tickStep } from "d3-array";

export interface Scale {
  /** The pixel of a value. */
  at: (value: number) => number;
  /** The value at a pixel. */
  value: (at: number) => number;
  ticks: number[];
}

/** `low` to `high` along `from` to `to`; an empty domain is widened so that nothing divides by zero. */
export function linear(low: number, high: number, from: number, to: number, wanted = 6): Scale {
  const span = high > low ? high - low : 1;
  return {
    at: (value) => from + ((value - low) / span) * (to - from),
    value: (at) => low + ((at - from) / (to - from || 1)) * span,
    ticks: steps(low, low + span, tickStep(low, low + span, wanted)),
  };
}

/** Powers of two along the axis, thinned until at most `wanted` are left. `low` must be above 0. */
export function doubling(low: number, high: number, from: number, to: number, wanted = 8): Scale {
  const first = Math.log2(low);
  const span = high > low ? Math.log2(high) - first : 1;
  const start = Math.ceil(first - 1e-9);
  const powers = Math.floor(first + span + 1e-9) - start + 1;
  const every = Math.max(1, Math.ceil(powers / wanted));
  const ticks: number[] = [];
  for (let power = start; power <= first + span + 1e-9; power += every) ticks.push(2 ** power);
  return {
    at: (value) => from + ((Math.log2(Math.max(value, Number.MIN_VALUE)) - first) / span) * (to - from),
    value: (at) => 2 ** (first + ((at - from) / (to - from || 1)) * span),
    ticks,
  };
}

const CLOCK_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Seconds, with ticks where a clock has them. */
export function clock(low: number, high: number, from: number, to: number, wanted = 8): Scale {
  const plain = linear(low, high, from, to, wanted);
  const least = (high - low) / wanted;
  const step = CLOCK_STEPS_S.find((candidate) => candidate >= least);
  return least < 0.5 || step === undefined ? plain : { ...plain, ticks: steps(low, high, step) };
}

function steps(low: number, high: number, step: number): number[] {
  if (!(step > 0) || !Number.isFinite(step)) return [];
  const found: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let index = first; index * step <= high + step * 1e-9; index += 1) {
    found.push(Number((index * step).toPrecision(12)));
  }
  return found;
}

/** A time on an axis, in the unit that fits the span it is shown in. */
export function clockLabel(value: number, span: number): string {
  if (span >= 2 * 3600) return `${trimmed(value / 3600, 2)} h`;
  if (span >= 240) return `${trimmed(value / 60, 2)} min`;
  if (span >= 2) return `${trimmed(value, 2)} s`;
  return `${trimmed(value * 1000, 2)} ms`;
}

/** A large count in few characters: 950, 16.4k, 2.1M. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size >= 999_950_000) return `${trimmed(value / 1e9, 1)}G`;
  if (size >= 999_950) return `${trimmed(value / 1e6, 1)}M`;
  if (size >= 10_000) return `${trimmed(value / 1e3, 1)}k`;
  return trimmed(value, 2);
}

function trimmed(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)));
}
