import { describe, expect, it } from "vitest";
import type { Schema } from "@/lib/api/client";
import { change } from "@/views/diff/align";
import {
  blocks,
  gapName,
  gaps,
  type Layout,
  nextGap,
  placeOf,
  readLayout,
  withFixes,
  withMove,
  writeLayout,
} from "@/views/diff/layout";

const SLOT = (id: string, movable = true): Schema<"Slot"> => ({
  id,
  path: "messages[0].content",
  type: "time",
  owner: "app",
  confidence: 1,
  start_char: 0,
  token_offset: 0,
  requests: 2,
  distinct: 2,
  finding: null,
  movable,
});
const TEXT = (text: string, path: string, role: string) =>
  ({ piece: "text", text, path, role, skipped_chars: 0 }) as const;
const AT = (slot: string, path: string, role: string) => ({ piece: "slot", slot, path, role }) as const;

const CLOCK = "messages[0].content#1";
const USER = 'messages[1]["a,b:%"]#1';
const TEMPLATE: Schema<"Template"> = {
  call_site: "site-1",
  pieces: [
    TEXT("Now: ", "messages[0].content", "system"),
    AT(CLOCK, "messages[0].content", "system"),
    TEXT(" UTC", "messages[0].content", "system"),
    TEXT("search", "tools", "tools"),
    AT("tools#order", "tools[0]", "tools"),
    AT(USER, "messages[1].content", "user"),
  ],
  slots: [SLOT(CLOCK), SLOT(USER), SLOT("tools#order", false)],
  requests: [],
  requests_in_all: 0,
  proposals: [
    { findings: ["F1"], suggestion: "", recoverable_tokens: 1 },
    { findings: ["F1", "F2"], suggestion: "", recoverable_tokens: 2 },
  ],
  note: "",
};
const NONE: Layout = { fixes: [], moves: [] };
const { pieces } = TEMPLATE;

const asked = (layout: Layout) => {
  const { fixes, moves } = writeLayout(layout);
  const query = new URLSearchParams();
  if (fixes !== null) query.set("fixes", fixes);
  if (moves !== null) query.set("moves", moves);
  return new URLSearchParams(query.toString());
};

describe("a layout in the address", () => {
  it("comes back as it was, whatever a slot is called", () => {
    const layout = {
      fixes: ["F2", "F1"],
      moves: [
        { slot: CLOCK, before_piece: 6 },
        { slot: USER, before_piece: 0 },
      ],
    };
    expect(readLayout(asked(layout), TEMPLATE)).toEqual(layout);
    expect(readLayout(asked(NONE), TEMPLATE)).toEqual(NONE);
  });

  it("leaves out what this template cannot do", () => {
    const query = new URLSearchParams({
      fixes: "F9,F1,F1",
      moves: `9:${encodeURIComponent(CLOCK)},0:tools%23order,3:${encodeURIComponent(CLOCK)},x,1:%E0%A4%A`,
    });
    expect(readLayout(query, TEMPLATE)).toEqual({ fixes: ["F1"], moves: [] });
  });

  it("moves a slot once", () => {
    const query = new URLSearchParams({ moves: `0:${encodeURIComponent(CLOCK)},6:${encodeURIComponent(CLOCK)}` });
    expect(readLayout(query, TEMPLATE).moves).toEqual([{ slot: CLOCK, before_piece: 6 }]);
  });
});

describe("places of a slot", () => {
  it("are never among the tools, and its own counts once", () => {
    expect(gaps(pieces, CLOCK)).toEqual([0, 1, 5, 6]);
    expect(gaps(pieces, USER)).toEqual([0, 1, 2, 5]);
  });

  it("are walked one by one, and no further than the ends", () => {
    const possible = gaps(pieces, CLOCK);
    expect(nextGap(possible, 1, 1)).toBe(5);
    expect(nextGap(possible, 1, -1)).toBe(0);
    expect(nextGap(possible, 0, -1)).toBe(0);
    expect(nextGap(possible, 6, 1)).toBe(6);
  });

  it("have names", () => {
    const name = (slot: string) => (slot === USER ? "S2" : "S1");
    expect(gapName(pieces, 0, name)).toBe("before “Now:…”, in messages[0].content");
    expect(gapName(pieces, 5, name)).toBe("before S2, in messages[1].content");
    expect(gapName(pieces, 6, name)).toBe("at the end of the newest message");
  });
});

describe("laying out", () => {
  it("takes a slot away, leaves a trace, and undoes it in its own place", () => {
    const moved = withMove(NONE, pieces, CLOCK, 6);
    expect(placeOf(moved, pieces, CLOCK)).toBe(6);
    const laid = blocks(pieces, moved);
    expect(laid[0]?.items.map((item) => item.kind)).toEqual(["text", "left", "text"]);
    expect(laid.at(-1)?.items).toEqual([{ kind: "slot", slot: CLOCK, moved: true, gap: 6 }]);
    expect(withMove(moved, pieces, CLOCK, 1)).toEqual(NONE);
  });

  it("keeps every text and every slot, wherever they are put", () => {
    for (const slot of [CLOCK, USER]) {
      for (const gap of gaps(pieces, slot)) {
        const items = blocks(pieces, withMove(NONE, pieces, slot, gap)).flatMap((block) => block.items);
        const slots = items.flatMap((item) => (item.kind === "slot" ? [item.slot] : []));
        expect(slots.toSorted()).toEqual([CLOCK, USER, "tools#order"].toSorted());
        expect(items.filter((item) => item.kind === "text")).toHaveLength(3);
      }
    }
  });

  it("takes fixes together and apart", () => {
    const both = withFixes(withFixes(NONE, ["F1"]), ["F1", "F2"]);
    expect(both.fixes).toEqual(["F1", "F2"]);
    expect(withFixes(both, ["F1"]).fixes).toEqual(["F2"]);
    expect(withFixes(both, ["F1", "F2"]).fixes).toEqual([]);
  });
});

describe("the aligned requests", () => {
  const row = (value: string | null, variant?: number): Schema<"AlignedRequest"> => ({
    index: 0,
    id: "a",
    session: "s",
    values: value === null ? {} : { [CLOCK]: value },
    variants: variant === undefined ? {} : { [CLOCK]: variant },
  });

  it("say what differs from the row before", () => {
    expect(change(row("a"), undefined, CLOCK)).toBe("first");
    expect(change(row("a"), row("a"), CLOCK)).toBe("same");
    expect(change(row("a"), row("b"), CLOCK)).toBe("differs");
    expect(change(row(null), row("b"), CLOCK)).toBe("absent");
  });

  it("do not take a mask for a value", () => {
    const mask = "‹time: 8 chars›";
    expect(change(row(mask), row(mask), CLOCK)).toBe("unknown");
    expect(change(row(mask, 1), row(mask, 0), CLOCK)).toBe("differs");
    expect(change(row(mask, 1), row(mask, 1), CLOCK)).toBe("same");
  });
});
