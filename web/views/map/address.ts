// The window in the address: tokens and lines, so that it means the same on another screen.

import { clamped, type Extent, type Viewport } from "@/views/map/viewport";

/** Say "0-20000,150-320": tokens, then lines. */
export function windowText(view: Viewport, extent: Extent): string {
  const short = (value: number) => String(Math.round(value * 100) / 100);
  const tokens = [view.left, view.left + extent.width].map((x) => short(x / view.perToken));
  const lines = [view.top, view.top + extent.height].map((y) => short(y / view.perLine));
  return `${tokens.join("-")},${lines.join("-")}`;
}

/** The window that `text` asks for; null where it is no window. */
export function windowOf(text: string | null, extent: Extent): Viewport | null {
  const parts = /^([\d.]+)-([\d.]+),([\d.]+)-([\d.]+)$/.exec(text ?? "");
  if (parts === null) return null;
  const [left = 0, right = 0, top = 0, bottom = 0] = parts.slice(1).map(Number);
  if (!(right > left) || !(bottom > top)) return null;
  const perToken = extent.width / (right - left);
  const perLine = extent.height / (bottom - top);
  return clamped({ perToken, perLine, left: left * perToken, top: top * perLine }, extent);
}
