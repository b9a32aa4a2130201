// How figures are written, everywhere the same; a figure without its unit is not shown.

const WHOLE = new Intl.NumberFormat("en-GB");

export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${Math.round(value) === 1 ? one : many}`;
}

export function tokens(value: number): string {
  return counted(value, "token");
}

export function percent(rate: number): string {
  return `${(100 * rate).toFixed(1)}%`;
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  // Bounds are where a figure, as rounded, would reach the next unit: no "1000 ms".
  if (size < 0.9995) return `${(value * 1000).toFixed(size < 0.009995 ? 2 : 0)} ms`;
  if (size < 119.95) return `${value.toFixed(size < 9.995 ? 2 : 1)} s`;
  if (size < 7197) return `${(value / 60).toFixed(1)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

export function factor(value: number): string {
  return `${value.toFixed(2)}×`;
}

const SOME_TIME_IN_1990_S = 631_152_000;

/** A recorded time: as a date where it is one, else as seconds since the trace began to count. */
export function moment(time_s: number): string {
  if (time_s < SOME_TIME_IN_1990_S) return seconds(time_s);
  const date = new Date(time_s * 1000);
  if (Number.isNaN(date.getTime())) return seconds(time_s);
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

// Characters that would turn, hide or move what stands around them are shown as what they are.
const UNSEEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Recorded text, fit to be shown: nothing in it is invisible, and it is cut at `most` characters. */
export function visible(text: string, most = 20_000): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(UNSEEN, (unfit) => `\\u${unfit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
