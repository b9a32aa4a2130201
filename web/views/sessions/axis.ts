// The time axis that all pictures of a run share.

import { clock, clockLabel } from "@/components/plot/scale";
import type { Seen } from "./series";

/** Room for names and values left of the pictures. */
export const GUTTER_PX = 96;
const RIGHT_PX = 20;

export interface Axis {
  seen: Seen;
  width: number;
  x: (time_s: number) => number;
  time: (at_px: number) => number;
  ticks: number[];
  label: (time_s: number) => string;
}

export function axisOf(seen: Seen, width: number): Axis {
  const from = GUTTER_PX;
  const to = Math.max(width - RIGHT_PX, from + 50);
  const scale = clock(seen.from_s, seen.to_s, from, to, Math.max(2, Math.floor((to - from) / 110)));
  const span = seen.to_s - seen.from_s;
  return {
    seen,
    width,
    x: scale.at,
    time: scale.value,
    ticks: scale.ticks,
    label: (time_s) => clockLabel(time_s, span),
  };
}
