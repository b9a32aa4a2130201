// In which order lanes stand.

import { requestsIn, type SessionTimeline } from "./segments";

export const ORDERS = [
  { value: "start", name: "as they start" },
  { value: "end", name: "last to end first" },
  { value: "evicted", name: "most evicted first" },
] as const;
export type LaneOrder = (typeof ORDERS)[number]["value"];

export function readLaneOrder(text: string | null): LaneOrder {
  return ORDERS.find((order) => order.value === text)?.value ?? "start";
}

const KEYS: Record<LaneOrder, (session: SessionTimeline) => number> = {
  start: (session) => session.arrival_s[0] ?? 0,
  end: (session) => -(session.end_s.at(-1) ?? 0),
  evicted: (session) => -session.recomputed_tokens.reduce((total, tokens) => total + tokens, 0),
};

/** The ids of the sessions of the first run in the order asked for: both runs show theirs in it. */
export function laneOrder(sessions: SessionTimeline[], order: LaneOrder): string[] {
  const key = KEYS[order];
  return sessions
    .map((session, place) => ({ id: session.id, place, key: key(session) }))
    .sort((a, b) => a.key - b.key || a.place - b.place)
    .map((session) => session.id);
}

/** Sessions with requests, in the order of `ids`; those it does not name come last. */
export function inOrder(sessions: SessionTimeline[], ids: string[]): SessionTimeline[] {
  const place = new Map(ids.map((id, index) => [id, index]));
  return sessions
    .filter((session) => requestsIn(session) > 0)
    .sort((a, b) => (place.get(a.id) ?? ids.length) - (place.get(b.id) ?? ids.length));
}
