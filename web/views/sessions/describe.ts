// A request of a session in words: what the picture shows, for those who do not see it.

import { count, counted, seconds } from "@/lib/format";
import { gapKind, requestsIn, type SessionTimeline } from "./segments";

export interface RequestFigures {
  request: number;
  arrival_s: number;
  waited_s: number;
  prefill_s: number;
  decode_s: number;
  latency_s: number;
  prompt_tokens: number;
  hit_tokens: number;
  recomputed_tokens: number;
  reloaded_tokens: number;
  output_tokens: number;
  preemptions: number;
  gap: string;
  /** Until the session's next request; null for the last. */
  gap_s: number | null;
}

export function requestFigures(session: SessionTimeline, request: number): RequestFigures | null {
  const arrival = session.arrival_s[request];
  if (arrival === undefined) return null;
  const of = (list: number[]) => list[request] ?? 0;
  const end = of(session.end_s);
  const next = session.arrival_s[request + 1];
  return {
    request,
    arrival_s: arrival,
    waited_s: of(session.admitted_s) - arrival,
    prefill_s: of(session.first_token_s) - of(session.admitted_s),
    decode_s: end - of(session.first_token_s),
    latency_s: end - arrival,
    prompt_tokens: of(session.prompt_tokens),
    hit_tokens: of(session.hit_tokens),
    recomputed_tokens: of(session.recomputed_tokens),
    reloaded_tokens: of(session.reloaded_tokens),
    output_tokens: of(session.output_tokens),
    preemptions: of(session.preemptions),
    gap: session.gap[request] ?? "end",
    gap_s: next === undefined ? null : next - end,
  };
}

export function allRequests(session: SessionTimeline): RequestFigures[] {
  return Array.from({ length: requestsIn(session) }, (_, index) => requestFigures(session, index)).filter(
    (figures) => figures !== null,
  );
}

/** What came after the answer. */
export function gapName(gap: string): string {
  const kind = gapKind(gap);
  if (kind === null) return "end of the session";
  if (kind === "tool") return `tool ${gap}`;
  return kind === "human" ? "human" : "idle";
}

export function describe(session: SessionTimeline, request: number): string {
  const figures = requestFigures(session, request);
  if (figures === null) return "no such request in this run";
  const parts = [
    `waited ${seconds(figures.waited_s)}`,
    `prefill ${seconds(figures.prefill_s)} for ${counted(figures.prompt_tokens, "token")}: ${count(figures.hit_tokens)} hit` +
      (figures.recomputed_tokens > 0 ? `, ${count(figures.recomputed_tokens)} evicted and computed again` : "") +
      (figures.reloaded_tokens > 0 ? `, ${count(figures.reloaded_tokens)} read back from host memory` : ""),
    `decode ${seconds(figures.decode_s)} for ${counted(figures.output_tokens, "token")}`,
  ];
  if (figures.preemptions > 0) parts.push(`preempted ${counted(figures.preemptions, "time")}`);
  parts.push(figures.gap_s === null ? "end of the session" : `then ${gapName(figures.gap)} ${seconds(figures.gap_s)}`);
  return parts.join("; ");
}
