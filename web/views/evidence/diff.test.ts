import { describe, expect, it } from "vitest";
import { type Part, sideOf, wordDiff, words } from "./diff";

function text(parts: Part[], side: "before" | "after"): string {
  return sideOf(parts, side).map((part) => part.text).join("");
}

/** A small generator, so that every run tries the same texts. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe("wordDiff", () => {
  it("marks the word that changed and no other", () => {
    const parts = wordDiff("Dear Dr Vos,\n\nthe answer is yes.", "Dear Ann,\n\nthe answer is yes.");
    expect(parts).toEqual([
      { change: "same", text: "Dear " },
      { change: "removed", text: "Dr Vos" },
      { change: "added", text: "Ann" },
      { change: "same", text: ",\n\nthe answer is yes." },
    ]);
  });
  it("has nothing to say of equal texts", () => {
    expect(wordDiff("same text", "same text")).toEqual([{ change: "same", text: "same text" }]);
    expect(wordDiff("", "")).toEqual([]);
  });
  it("knows additions and removals", () => {
    expect(wordDiff("", "new")).toEqual([{ change: "added", text: "new" }]);
    expect(wordDiff("one two three", "one three").map((part) => part.change)).toEqual(["same", "removed", "same"]);
  });
  it("gives back both texts, whatever they are", () => {
    const next = random(7);
    const some = () => Array.from({ length: Math.floor(next() * 30) }, () => "ab \nc<é"[Math.floor(next() * 7)]).join("");
    for (let round = 0; round < 500; round += 1) {
      const [before, after] = [some(), some()];
      const parts = wordDiff(before, after);
      expect(text(parts, "before")).toBe(before);
      expect(text(parts, "after")).toBe(after);
    }
  });
  it("finds the shortest difference", () => {
    const changed = wordDiff("a b c a b b a", "c b a b a c").filter((part) => part.change !== "same" && part.text.trim());
    expect(changed.map((part) => words(part.text).filter((word) => word.trim()).length).reduce((sum, n) => sum + n)).toBe(5);
  });
  it("takes texts with nothing in common as wholes", () => {
    const before = Array.from({ length: 4000 }, (_, index) => `b${index}`).join(" ");
    const after = Array.from({ length: 4000 }, (_, index) => `a${index}`).join("-");
    const parts = wordDiff(before, after);
    expect(parts.map((part) => part.change)).toEqual(["removed", "added"]);
    expect(text(parts, "after")).toBe(after);
  });
});
