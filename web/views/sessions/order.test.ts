import { expect, it } from "vitest";
import { inOrder, laneOrder, readLaneOrder } from "./order";
import type { SessionTimeline } from "./segments";

function session(id: string, arrival_s: number[], end: number, recomputed: number): SessionTimeline {
  return { id, arrival_s, end_s: [end], recomputed_tokens: [recomputed, 1] } as unknown as SessionTimeline;
}

const SESSIONS = [session("a", [3], 9, 50), session("b", [1], 20, 5), session("c", [3], 4, 100)];

it("puts lanes in the order asked for, equal ones as they were", () => {
  expect(laneOrder(SESSIONS, "start")).toEqual(["b", "a", "c"]);
  expect(laneOrder(SESSIONS, "end")).toEqual(["b", "a", "c"]);
  expect(laneOrder(SESSIONS, "evicted")).toEqual(["c", "a", "b"]);
});

it("shows the sessions of another run in the same order, strangers last, empty ones never", () => {
  const other = [session("stranger", [0], 1, 0), session("c", [0], 1, 0), session("b", [], 0, 0), session("a", [0], 1, 0)];
  expect(inOrder(other, ["b", "a", "c"]).map(({ id }) => id)).toEqual(["a", "c", "stranger"]);
});

it("reads addresses that people mistype", () => {
  expect(["end", "x", null].map(readLaneOrder)).toEqual(["end", "start", "start"]);
});
