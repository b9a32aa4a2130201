// What stands at a place of the map, in words: the same for the eye, the ear and the table.

import { FATES } from "@/lib/fates";
import { count, counted, moment, visible } from "@/lib/format";
import { type Columns, kindAt } from "@/views/map/columns";

export const SECTIONS = ["tools", "system", "history", "user", "unknown"] as const;

/** Names of call sites by their ids, where they are known. */
export type SiteNames = ReadonlyMap<string, string>;

/** A time of the trace; NaN where none was recorded. */
export function timeText(timeS: number): string {
  return Number.isNaN(timeS) ? "no time" : moment(timeS);
}

/** As `timeText`, short enough for the side of the map: of a date only the time of day. */
export function shortTime(timeS: number, index: number): string {
  if (Number.isNaN(timeS)) return `#${count(index)}`;
  const text = moment(timeS);
  return text.endsWith(" UTC") ? text.slice(-12, -4) : text;
}

export function requestName(columns: Columns, row: number): string {
  const id = columns.ids[row] ?? "";
  return id === "" ? `request ${count(columns.index[row] ?? 0)}` : visible(id, 80);
}

export function siteName(columns: Columns, row: number, names: SiteNames): string {
  const id = columns.callSites[columns.callSite[row] ?? -1] ?? "";
  return visible(names.get(id) ?? id, 120);
}

export function sessionName(columns: Columns, row: number): string {
  return visible(columns.sessions[columns.session[row] ?? -1] ?? "", 80);
}

export function fateAt(columns: Columns, row: number, token: number): string | null {
  const code = kindAt(columns.fates, row, token);
  return code === null ? null : (FATES[code]?.fate ?? null);
}

export function sectionAt(columns: Columns, row: number, token: number): string | null {
  const code = kindAt(columns.sections, row, token);
  return code === null ? null : (SECTIONS[code] ?? null);
}

/** Where the row's break is and why, or that it has none. */
export function breakText(columns: Columns, row: number): string {
  const token = columns.breakToken[row] ?? -1;
  if (token < 0) return "no break";
  const cause = columns.causes[columns.cause[row] ?? -1];
  return `break at token ${count(token)}${cause === undefined ? "" : `, cause ${visible(cause)}`}`;
}

/** A place: the request, then where it is from, then the token, then the break; one line each. */
export function placeLines(columns: Columns, row: number, token: number, names: SiteNames): string[] {
  const from = [
    timeText(columns.timeS[row] ?? NaN),
    `session ${sessionName(columns, row)}`,
    `call site ${siteName(columns, row, names)}`,
  ];
  const fate = fateAt(columns, row, token);
  const block = `block ${count(Math.floor(token / columns.blockSize))}`;
  const here =
    fate === null
      ? `behind the end: the prompt has ${counted(columns.promptTokens[row] ?? 0, "token")}`
      : `token ${count(token)}, ${block}: ${fate}, in ${sectionAt(columns, row, token) ?? "an unknown part"}`;
  return [requestName(columns, row), ...from, here, breakText(columns, row)];
}

/** Rows that one line or one pixel shows together, with how many of them have which fate at `token`. */
export function togetherLines(
  columns: Columns,
  first: number,
  end: number,
  token: number,
  group: string | null,
): string[] {
  const of = group === null ? "" : ` of ${visible(group, 80)}`;
  const held = FATES.map(() => 0);
  for (let row = first; row < end; row += 1) {
    const code = kindAt(columns.fates, row, token);
    if (code !== null) held[code] = (held[code] ?? 0) + 1;
  }
  const fates = FATES.flatMap(({ fate }, code) => ((held[code] ?? 0) > 0 ? [`${fate} in ${count(held[code] ?? 0)}`] : []));
  return [
    `${counted(end - first, "request")}${of}, from ${requestName(columns, first)}`,
    `token ${count(token)}: ${fates.length === 0 ? "behind the end of all" : fates.join(", ")}`,
    group === null ? "zoom in to tell them apart" : "folded: press F to unfold",
  ];
}
