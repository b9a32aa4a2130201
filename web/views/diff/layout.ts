import type { Schema } from "@/lib/api/client";

// A prompt laid out otherwise: which findings' fixes are taken, and which slots stand elsewhere.

export type Piece = Schema<"Template">["pieces"][number];
export type Slot = Schema<"Slot">;
export type Move = Schema<"Move">;

export interface Layout {
  fixes: readonly string[];
  moves: readonly Move[];
}

/** The layout that an address holds; what is no finding, no movable slot or no place of the template is left out. */
export function readLayout(query: URLSearchParams, template: Schema<"Template">): Layout {
  const known = new Set(template.proposals.flatMap((proposal) => proposal.findings));
  const fixes = (query.get("fixes") ?? "").split(",").filter((id) => known.has(id));
  const moves = (query.get("moves") ?? "").split(",").flatMap((text) => readMove(text, template));
  const last = new Map(moves.map((move) => [move.slot, move]));
  return { fixes: [...new Set(fixes)], moves: [...last.values()] };
}

function readMove(text: string, template: Schema<"Template">): Move[] {
  const [, place, name] = /^(\d{1,6}):(.+)$/.exec(text) ?? [];
  if (place === undefined || name === undefined) return [];
  const slot = decoded(name);
  const before_piece = Number(place);
  const movable = template.slots.some((one) => one.id === slot && one.movable);
  return movable && gaps(template.pieces, slot).includes(before_piece) ? [{ slot, before_piece }] : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** What `readLayout` reads, as changes of the query. */
export function writeLayout(layout: Layout): { fixes: string | null; moves: string | null } {
  const moves = layout.moves.map((move) => `${move.before_piece}:${encodeURIComponent(move.slot)}`);
  return { fixes: layout.fixes.join(",") || null, moves: moves.join(",") || null };
}

/** Where a slot may be put: before a piece, by its index, or behind all. Its own place is among them. */
export function gaps(pieces: readonly Piece[], slot: string): number[] {
  const all = Array.from({ length: pieces.length + 1 }, (_, gap) => gap);
  // Nothing can be put among the tools, and behind a slot's own place is its own place again.
  return all.filter((gap) => pieces[gap]?.role !== "tools" && !isSlot(pieces[gap - 1], slot));
}

function isSlot(piece: Piece | undefined, slot: string): boolean {
  return piece?.piece === "slot" && piece.slot === slot;
}

/** The place of the slot in the template as recorded. */
export function ownPlace(pieces: readonly Piece[], slot: string): number {
  return pieces.findIndex((piece) => isSlot(piece, slot));
}

export function placeOf(layout: Layout, pieces: readonly Piece[], slot: string): number {
  return layout.moves.find((move) => move.slot === slot)?.before_piece ?? ownPlace(pieces, slot);
}

/** The layout with the slot put there; back in its own place it is not moved at all. */
export function withMove(layout: Layout, pieces: readonly Piece[], slot: string, gap: number): Layout {
  const others = layout.moves.filter((move) => move.slot !== slot);
  const moves = gap === ownPlace(pieces, slot) ? others : [...others, { slot, before_piece: gap }];
  return { ...layout, moves };
}

/** The layout with all these fixes taken; without them where all of them are. */
export function withFixes(layout: Layout, findings: readonly string[]): Layout {
  const taken = findings.every((id) => layout.fixes.includes(id));
  const others = layout.fixes.filter((id) => !findings.includes(id));
  return { ...layout, fixes: taken ? others : [...others, ...findings] };
}

export type Item =
  | { kind: "text"; piece: Schema<"TextPiece">; gap: number }
  | { kind: "slot"; slot: string; moved: boolean; gap: number }
  | { kind: "left"; slot: string; gap: number };

export interface Block {
  path: string;
  role: string;
  items: Item[];
}

/** The template as laid out, by message; where a slot stood it has left a trace. */
export function blocks(pieces: readonly Piece[], layout: Layout): Block[] {
  const made: Block[] = [];
  const put = (path: string, role: string, item: Item) => {
    const last = made.at(-1);
    if (last?.path === path && last.role === role) last.items.push(item);
    else made.push({ path, role, items: [item] });
  };
  const arriving = (gap: number) => layout.moves.filter((move) => move.before_piece === gap);
  pieces.forEach((piece, gap) => {
    for (const move of arriving(gap)) put(piece.path, piece.role, { kind: "slot", slot: move.slot, moved: true, gap });
    if (piece.piece === "text") put(piece.path, piece.role, { kind: "text", piece, gap });
    else if (layout.moves.some((move) => move.slot === piece.slot)) {
      put(piece.path, piece.role, { kind: "left", slot: piece.slot, gap });
    } else put(piece.path, piece.role, { kind: "slot", slot: piece.slot, moved: false, gap });
  });
  for (const move of arriving(pieces.length)) {
    put(END, "", { kind: "slot", slot: move.slot, moved: true, gap: pieces.length });
  }
  return made;
}

/** The path of the block behind all pieces. */
export const END = "the end of the newest message";

/** Where a gap is, in words. */
export function gapName(pieces: readonly Piece[], gap: number, nameOf: (slot: string) => string): string {
  const piece = pieces[gap];
  if (piece === undefined) return `at ${END}`;
  if (piece.piece === "slot") return `before ${nameOf(piece.slot)}, in ${piece.path}`;
  const start = piece.text.trim().slice(0, 40).replaceAll(/\s+/g, " ");
  return start === "" ? `in ${piece.path}` : `before “${start}…”, in ${piece.path}`;
}

/** The next place in that direction, the same where there is none. */
export function nextGap(possible: readonly number[], now: number, step: 1 | -1): number {
  const further = step > 0 ? possible.find((gap) => gap > now) : possible.findLast((gap) => gap < now);
  return further ?? now;
}
