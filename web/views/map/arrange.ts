// Which requests are shown and in which order; groups that are folded take one line together.

import { type Columns, taken } from "@/views/map/columns";

export const GROUPS = ["time", "call_site", "session"] as const;
export type Group = (typeof GROUPS)[number];

export interface Filters {
  callSite: string | null;
  session: string | null;
  cause: string | null;
}

/** Rows from `start` to `end` belong to `name`; there are no groups where requests stand by time alone. */
export interface GroupRows {
  name: string;
  start: number;
  end: number;
}

export interface Arranged {
  columns: Columns;
  groups: readonly GroupRows[];
}

/**
 * The requests that pass the filters, grouped. Within a group they keep their order; sessions stand by their
 * first request, call sites by the tokens they lost, most first.
 */
export function arranged(columns: Columns, group: Group, filters: Filters): Arranged {
  const kept = passing(columns, filters);
  if (group === "time") {
    return { columns: kept.length === columns.rows ? columns : taken(columns, kept), groups: [] };
  }
  const keys = group === "session" ? columns.session : columns.callSite;
  const names = group === "session" ? columns.sessions : columns.callSites;
  const members = new Map<number, number[]>();
  for (const row of kept) {
    const key = keys[row] ?? -1;
    const held = members.get(key);
    if (held === undefined) members.set(key, [row]);
    else held.push(row);
  }
  const ordered = [...members];
  if (group === "call_site") {
    const lost = new Map(ordered.map(([key, rows]) => [key, lostTokens(columns, rows)]));
    ordered.sort(([a], [b]) => (lost.get(b) ?? 0) - (lost.get(a) ?? 0));
  }
  const rows = new Int32Array(kept.length);
  const groups: GroupRows[] = [];
  let at = 0;
  for (const [key, held] of ordered) {
    rows.set(held, at);
    groups.push({ name: names[key] ?? "", start: at, end: at + held.length });
    at += held.length;
  }
  return { columns: taken(columns, rows), groups };
}

function passing(columns: Columns, filters: Filters): Int32Array {
  const site = wanted(columns.callSites, filters.callSite);
  const session = wanted(columns.sessions, filters.session);
  const cause = wanted(columns.causes, filters.cause);
  const kept = new Int32Array(columns.rows);
  let count = 0;
  for (let row = 0; row < columns.rows; row += 1) {
    if (site !== null && columns.callSite[row] !== site) continue;
    if (session !== null && columns.session[row] !== session) continue;
    if (cause !== null && columns.cause[row] !== cause) continue;
    kept[count] = row;
    count += 1;
  }
  return kept.slice(0, count);
}

/** The number of a name; -2, which no row has, where it is unknown. */
function wanted(names: readonly string[], name: string | null): number | null {
  if (name === null) return null;
  const number = names.indexOf(name);
  return number < 0 ? -2 : number;
}

const DIVERGED = 4;

function lostTokens(columns: Columns, rows: readonly number[]): number {
  const { start, kind, end } = columns.fates;
  let lost = 0;
  for (const row of rows) {
    let before = 0;
    for (let run = start[row] ?? 0; run < (start[row + 1] ?? 0); run += 1) {
      if ((kind[run] ?? 0) >= DIVERGED) lost += (end[run] ?? 0) - before;
      before = end[run] ?? 0;
    }
  }
  return lost;
}

/** Line i shows the rows from `start[i]` to `start[i + 1]`: one, or all of a folded group. */
export interface Lines {
  count: number;
  start: Int32Array;
}

export function lines(rows: number, groups: readonly GroupRows[], folded: ReadonlySet<string>): Lines {
  const start = new Int32Array(rows + 1);
  let count = 0;
  let row = 0;
  for (const group of groups) {
    if (!folded.has(group.name)) continue;
    while (row <= group.start) start[count++] = row++;
    row = group.end;
  }
  while (row < rows) start[count++] = row++;
  start[count] = rows;
  return { count, start: start.slice(0, count + 1) };
}

/** The line that shows `row`. */
export function lineOf(shown: Lines, row: number): number {
  let low = 0;
  let high = shown.count;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((shown.start[middle] ?? 0) <= row) low = middle;
    else high = middle;
  }
  return low;
}
