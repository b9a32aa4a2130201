// The colours of the style sheet, as a canvas needs them; the style sheet stays the only place that names them.

import { colourOf } from "@/components/Theme";
import { FATES } from "@/lib/fates";
import type { Palette } from "@/views/map/paint";
import { SECTIONS } from "@/views/map/words";

/** Colours as text for what is drawn, and as pixels for what is painted. */
export interface Theme {
  palette: Palette;
  fates: readonly string[];
  sections: readonly string[];
  ground: string;
  line: string;
  text: string;
  dim: string;
  accent: string;
}

/** The theme that holds now. */
export function currentTheme(): Theme {
  const fates = FATES.map(({ fate }) => colourOf(`--fate-${fate}`));
  const sections = SECTIONS.map((name) => colourOf(`--section-${name}`));
  const plain = {
    ground: colourOf("--ground"),
    line: colourOf("--line"),
    text: colourOf("--text"),
    dim: colourOf("--dim"),
    accent: colourOf("--accent"),
  };
  const palette = {
    fates: Uint32Array.from(fates, pixel),
    sections: Uint32Array.from(sections, pixel),
    ground: pixel(plain.ground),
    line: pixel(plain.line),
    text: pixel(plain.text),
  };
  return { palette, fates, sections, ...plain };
}

/** "rgb(1, 2, 3)" as a pixel in memory, opaque; the order of its bytes is that of an ImageData. */
export function pixel(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  const bytes = Uint8Array.of(red, green, blue, 255);
  return new Uint32Array(bytes.buffer)[0] ?? 0;
}
