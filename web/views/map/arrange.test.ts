import { describe, expect, it } from "vitest";
import { arranged, type Filters, lineOf, lines } from "@/views/map/arrange";
import { type Columns, Gathered, kindAt, type Page, taken } from "@/views/map/columns";
import { below, random, someColumns } from "@/views/map/fixtures";

const ALL: Filters = { callSite: null, session: null, cause: null };

function page(from: number, more: Partial<Page>): Page {
  return {
    block_size: 16,
    total: 4,
    most_prompt_tokens: 40,
    index: [from, from + 1],
    id: [`r${from}`, `r${from + 1}`],
    prompt_tokens: [20, 40],
    time_s: [null, 5],
    session: [0, 1],
    call_site: [0, 0],
    break_token: [null, 16],
    cause: [-1, 0],
    fate_runs: [1, 2],
    section_runs: [1, 1],
    sessions: ["a", "b"],
    call_sites: ["site"],
    causes: ["clock"],
    fate: [3, 0, 4],
    fate_end: [20, 16, 40],
    section: [1, 3],
    section_end: [20, 40],
    ...more,
  };
}

/** A row as one can read it. */
function row(columns: Columns, at: number): unknown[] {
  const fates = Array.from({ length: columns.promptTokens[at] ?? 0 }, (_, token) => kindAt(columns.fates, at, token));
  return [columns.ids[at], columns.sessions[columns.session[at] ?? -1], columns.breakToken[at], fates.join("")];
}

describe("pages", () => {
  it("become columns, and names that each page numbers anew are one", () => {
    const gathered = new Gathered();
    gathered.add(page(0, {}));
    gathered.add(page(2, { sessions: ["b", "c"], causes: ["random-id"] }));
    const columns = gathered.columns();
    expect(columns.sessions).toEqual(["a", "b", "c"]);
    expect([...columns.session]).toEqual([0, 1, 1, 2]);
    expect([...columns.cause]).toEqual([-1, 0, -1, 1]);
    expect([...columns.breakToken]).toEqual([-1, 16, -1, 16]);
    expect(row(columns, 3)).toEqual(["r3", "c", 16, "0".repeat(16) + "4".repeat(24)]);
    expect(kindAt(columns.sections, 3, 39)).toBe(3);
    expect(kindAt(columns.sections, 3, 40)).toBeNull();
  });
});

describe("arrangement", () => {
  it("keeps every request whole, whichever rows are taken in whichever order", () => {
    const columns = someColumns(30, 80, 5);
    const next = random(9);
    const rows = Int32Array.from({ length: 50 }, () => below(next, 30));
    const other = taken(columns, rows);
    rows.forEach((from, to) => expect(row(other, to)).toEqual(row(columns, from)));
  });

  it("puts together what belongs together, in order, and leaves nothing out", () => {
    const columns = someColumns(40, 60, 3);
    const { columns: shown, groups } = arranged(columns, "session", ALL);
    expect(groups[0]?.start).toBe(0);
    expect(groups.at(-1)?.end).toBe(40);
    for (const { name, start, end } of groups) {
      const indices = [...shown.index.subarray(start, end)];
      expect(indices).toEqual([...indices].sort((a, b) => a - b));
      for (let at = start; at < end; at += 1) expect(shown.sessions[shown.session[at] ?? -1]).toBe(name);
    }
    expect([...shown.index].sort((a, b) => a - b)).toEqual([...columns.index]);
  });

  it("puts the call site that lost most first", () => {
    const columns = someColumns(40, 60, 3);
    const { columns: shown, groups } = arranged(columns, "call_site", ALL);
    const lost = groups.map(({ start, end }) => {
      let sum = 0;
      for (let at = start; at < end; at += 1) {
        for (let token = 0; token < (shown.promptTokens[at] ?? 0); token += 1) {
          if ((kindAt(shown.fates, at, token) ?? 0) >= 4) sum += 1;
        }
      }
      return sum;
    });
    expect(lost).toEqual([...lost].sort((a, b) => b - a));
  });

  it("filters; a name that is not there lets nothing pass", () => {
    const columns = someColumns(40, 60, 3);
    const { columns: shown } = arranged(columns, "time", { ...ALL, cause: "clock", session: "s1" });
    expect(shown.rows).toBeGreaterThan(0);
    expect([...shown.cause].every((cause) => cause === 0)).toBe(true);
    expect([...shown.session].every((session) => session === 1)).toBe(true);
    expect(arranged(columns, "time", { ...ALL, session: "nobody" }).columns.rows).toBe(0);
    expect(arranged(columns, "time", ALL).columns).toBe(columns);
  });
});

describe("folding", () => {
  it("gives each folded group one line and every other request its own", () => {
    const groups = [
      { name: "a", start: 0, end: 3 },
      { name: "b", start: 3, end: 4 },
      { name: "c", start: 4, end: 9 },
    ];
    expect([...lines(9, groups, new Set(["a", "c"])).start]).toEqual([0, 3, 4, 9]);
    expect([...lines(9, groups, new Set(["b"])).start]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const folded = lines(9, groups, new Set(["a"]));
    expect([0, 2, 3, 8].map((at) => lineOf(folded, at))).toEqual([0, 0, 1, 6]);
  });
});
