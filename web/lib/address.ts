import type { Fate } from "@/lib/fates";
import { link } from "@/lib/url";

// The addresses by which views point at each other's rows, said once.

export function atSite(diagnosis: string, site: string): string {
  return link("", { diagnosis, site });
}

export interface RequestFilter {
  site?: string | null;
  session?: string | null;
  cause?: string | null;
  fate?: Fate | null;
  text?: string | null;
  by?: "time" | "lost" | "prompt" | "hit_rate" | null;
}

/** The table of requests, those of `filter`. */
export function atRequests(diagnosis: string, { site, ...filter }: RequestFilter = {}): string {
  return link("", { diagnosis, requests: site ?? "all", ...filter });
}

/** One request, its tokens around the break. */
export function atRequest(diagnosis: string, index: number): string {
  return link("", { diagnosis, request: index });
}

export function atMap(diagnosis: string, site: string | null, index?: number): string {
  return link("map", { diagnosis, site, request: index });
}

/** The sessions of a call site, each with its requests. */
export function atSessions(diagnosis: string, site: string): string {
  return link("map", { diagnosis, site, group: "session" });
}

export function atDiff(diagnosis: string, site: string): string {
  return link("diff", { diagnosis, site });
}

export function atEvidence(kind: "verdict" | "comparison" | "replay" | "canary" | "tuning", id: string): string {
  return link("evidence", { [kind]: id });
}
