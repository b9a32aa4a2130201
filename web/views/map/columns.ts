// The map as typed arrays, one entry a request, so that nothing is allocated while it is drawn.

import type { Schema } from "@/lib/api/client";

/** Stretches of every row, one after another: row r has those from `start[r]` to `start[r + 1]`, by their ends. */
export interface Runs {
  start: Int32Array;
  kind: Uint8Array;
  end: Int32Array;
}

/** `total`: requests on the server; -1 stands for none in `breakToken` and `cause`, NaN in `timeS`. */
export interface Columns {
  rows: number;
  total: number;
  blockSize: number;
  mostTokens: number;
  index: Int32Array;
  ids: readonly string[];
  promptTokens: Int32Array;
  timeS: Float64Array;
  session: Int32Array;
  callSite: Int32Array;
  cause: Int32Array;
  breakToken: Int32Array;
  fates: Runs;
  sections: Runs;
  sessions: readonly string[];
  callSites: readonly string[];
  causes: readonly string[];
}

export type Page = Schema<"PromptMap">;

/** Pages become columns; each page numbers its names anew, so the names are numbered over all of them. */
export class Gathered {
  readonly #pages: Page[] = [];
  readonly #sessions = new Names();
  readonly #callSites = new Names();
  readonly #causes = new Names();
  rows = 0;

  add(page: Page): void {
    this.#pages.push(page);
    this.rows += page.index.length;
    this.#sessions.add(page.sessions);
    this.#callSites.add(page.call_sites);
    this.#causes.add(page.causes);
  }

  columns(): Columns {
    const last = this.#pages.at(-1);
    const many = <T>(of: (page: Page) => readonly T[]) => this.#pages.flatMap(of);
    return {
      rows: this.rows,
      total: last?.total ?? 0,
      blockSize: Math.max(1, last?.block_size ?? 1),
      mostTokens: this.#pages.reduce((most, page) => Math.max(most, page.most_prompt_tokens), 0),
      index: Int32Array.from(many((page) => page.index)),
      ids: many((page) => page.id),
      promptTokens: Int32Array.from(many((page) => page.prompt_tokens)),
      timeS: Float64Array.from(many((page) => page.time_s.map((time) => time ?? NaN))),
      session: Int32Array.from(many((page) => this.#sessions.numbers(page.session, page.sessions))),
      callSite: Int32Array.from(many((page) => this.#callSites.numbers(page.call_site, page.call_sites))),
      cause: Int32Array.from(many((page) => this.#causes.numbers(page.cause, page.causes))),
      breakToken: Int32Array.from(many((page) => page.break_token.map((token) => token ?? -1))),
      fates: this.#runs(
        (page) => page.fate_runs,
        (page) => page.fate,
        (page) => page.fate_end,
      ),
      sections: this.#runs(
        (page) => page.section_runs,
        (page) => page.section,
        (page) => page.section_end,
      ),
      sessions: this.#sessions.all,
      callSites: this.#callSites.all,
      causes: this.#causes.all,
    };
  }

  #runs(counts: Pick, kinds: Pick, ends: Pick): Runs {
    const start = new Int32Array(this.rows + 1);
    const length = this.#pages.reduce((sum, page) => sum + kinds(page).length, 0);
    const kind = new Uint8Array(length);
    const end = new Int32Array(length);
    let row = 0;
    let at = 0;
    for (const page of this.#pages) {
      for (const held of counts(page)) {
        start[row + 1] = (start[row] ?? 0) + held;
        row += 1;
      }
      kind.set(kinds(page), at);
      end.set(ends(page), at);
      at += kinds(page).length;
    }
    return { start, kind, end };
  }
}

type Pick = (page: Page) => readonly number[];

class Names {
  readonly all: string[] = [];
  readonly #number = new Map<string, number>();

  add(names: readonly string[]): void {
    for (const name of names) {
      if (this.#number.has(name)) continue;
      this.#number.set(name, this.all.length);
      this.all.push(name);
    }
  }

  numbers(numbers: readonly number[], names: readonly string[]): number[] {
    const known = names.map((name) => this.#number.get(name) ?? -1);
    return numbers.map((number) => known[number] ?? -1);
  }
}

/** The columns of `rows` alone, in that order. */
export function taken(columns: Columns, rows: Int32Array): Columns {
  const numbers = (from: Int32Array) => Int32Array.from(rows, (row) => from[row] ?? 0);
  return {
    ...columns,
    rows: rows.length,
    index: numbers(columns.index),
    ids: Array.from(rows, (row) => columns.ids[row] ?? ""),
    promptTokens: numbers(columns.promptTokens),
    timeS: Float64Array.from(rows, (row) => columns.timeS[row] ?? NaN),
    session: numbers(columns.session),
    callSite: numbers(columns.callSite),
    cause: numbers(columns.cause),
    breakToken: numbers(columns.breakToken),
    fates: takenRuns(columns.fates, rows),
    sections: takenRuns(columns.sections, rows),
  };
}

function takenRuns(runs: Runs, rows: Int32Array): Runs {
  const start = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    start[i + 1] = (start[i] ?? 0) + (runs.start[row + 1] ?? 0) - (runs.start[row] ?? 0);
  }
  const length = start[rows.length] ?? 0;
  const kind = new Uint8Array(length);
  const end = new Int32Array(length);
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const from = runs.start[row] ?? 0;
    const to = runs.start[row + 1] ?? 0;
    kind.set(runs.kind.subarray(from, to), start[i]);
    end.set(runs.end.subarray(from, to), start[i]);
  }
  return { start, kind, end };
}

/** The first stretch of `row` that ends behind `token`; `start[row + 1]` where none does. */
export function runAt(runs: Runs, row: number, token: number): number {
  let low = runs.start[row] ?? 0;
  let high = runs.start[row + 1] ?? 0;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs.end[middle] ?? 0) > token) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What `token` of `row` is; null behind the prompt's end. */
export function kindAt(runs: Runs, row: number, token: number): number | null {
  const run = runAt(runs, row, token);
  return run < (runs.start[row + 1] ?? 0) ? (runs.kind[run] ?? null) : null;
}
