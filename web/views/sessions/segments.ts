// What a session does over time, as segments of its lane.

import type { Schema } from "@/lib/api/client";

export type Timeline = Schema<"Timeline">;
export type SessionTimeline = Schema<"SessionTimeline">;

export const KINDS = ["waiting", "recomputed", "prefill", "decode", "tool", "human", "idle"] as const;
export type SegmentKind = (typeof KINDS)[number];

export interface Segment {
  kind: SegmentKind;
  /** Which request of the session it belongs to. */
  request: number;
  from_s: number;
  to_s: number;
}

/** Requests of a session. */
export function requestsIn(session: SessionTimeline): number {
  return session.arrival_s.length;
}

function at(list: number[], index: number): number {
  return list[index] ?? 0;
}

/** The share of the computed prompt tokens that had been cached, were evicted and were computed again. */
export function recomputedShare(session: SessionTimeline, request: number): number {
  const computed = at(session.prompt_tokens, request) - at(session.hit_tokens, request);
  return computed <= 0 ? 0 : Math.min(1, at(session.recomputed_tokens, request) / computed);
}

export function gapKind(gap: string): SegmentKind | null {
  if (gap === "end") return null;
  if (gap === "human") return "human";
  return gap === "unknown" || gap === "" ? "idle" : "tool";
}

/**
 * The lane of one session, in order of time; segments of no length are left out. Prefill is cut in two by
 * tokens: what was computed again stands first, as it does in the prompt.
 */
export function segmentsOf(session: SessionTimeline): Segment[] {
  const segments: Segment[] = [];
  const put = (kind: SegmentKind, request: number, from_s: number, to_s: number) => {
    if (to_s > from_s) segments.push({ kind, request, from_s, to_s });
  };
  for (let request = 0; request < requestsIn(session); request += 1) {
    const admitted = at(session.admitted_s, request);
    const first = at(session.first_token_s, request);
    const end = at(session.end_s, request);
    const cut = admitted + recomputedShare(session, request) * (first - admitted);
    put("waiting", request, at(session.arrival_s, request), admitted);
    put("recomputed", request, admitted, cut);
    put("prefill", request, cut, first);
    put("decode", request, first, end);
    const next = session.arrival_s[request + 1];
    const gap = gapKind(session.gap[request] ?? "end");
    if (next !== undefined && gap !== null) put(gap, request, end, next);
  }
  return segments;
}

/** The segment at a time, or null. Segments are in order and do not overlap. */
export function segmentAt(segments: Segment[], time_s: number): Segment | null {
  let low = 0;
  let high = segments.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const segment = segments[middle];
    if (segment === undefined) return null;
    if (time_s < segment.from_s) high = middle - 1;
    else if (time_s >= segment.to_s) low = middle + 1;
    else return segment;
  }
  return null;
}

export interface Bar {
  from: number;
  to: number;
}

/**
 * Bars in pixels for each kind, of the part of a lane that is seen. Bars of one kind that come closer than
 * half a pixel are drawn as one, so that a lane never has more bars than pixels; none is thinner than one.
 */
export function barsOf(
  segments: Segment[],
  seen: { from_s: number; to_s: number },
  pixel: (time_s: number) => number,
): Map<SegmentKind, Bar[]> {
  const bars = new Map<SegmentKind, Bar[]>();
  for (const segment of segments) {
    if (segment.to_s < seen.from_s) continue;
    if (segment.from_s > seen.to_s) break;
    const from = pixel(Math.max(segment.from_s, seen.from_s));
    const to = Math.max(pixel(Math.min(segment.to_s, seen.to_s)), from + 1);
    const ofKind = bars.get(segment.kind) ?? [];
    const last = ofKind.at(-1);
    if (last !== undefined && from < last.to + 0.5) last.to = Math.max(last.to, to);
    else ofKind.push({ from, to });
    bars.set(segment.kind, ofKind);
  }
  return bars;
}

/** Bars as one path of SVG: `height` tall around the middle of a lane. */
export function barPath(bars: Bar[], middle: number, height: number): string {
  const top = middle - height / 2;
  return bars
    .map(({ from, to }) => `M${from.toFixed(1)} ${top}H${to.toFixed(1)}v${height}H${from.toFixed(1)}z`)
    .join("");
}
