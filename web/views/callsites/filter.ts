import { FATES, type Fate } from "@/lib/fates";

// The filter of the table of requests, as the address holds it.

export interface Filter {
  call_site: string | null;
  session: string | null;
  cause: string | null;
  fate: Fate | null;
  text: string | null;
  order: "time" | "lost" | "prompt" | "hit_rate";
  offset: number;
  limit: number;
}

const PAGE = 50;
const LAST_OFFSET = 10_000_000;

/** What the address asks for; a value that is none counts as not given. */
export function readFilter(query: URLSearchParams): Filter {
  const site = query.get("requests");
  const fate = FATES.find((kind) => kind.fate === query.get("fate"));
  const by = query.get("by");
  const offset = /^\d{1,8}$/.test(query.get("offset") ?? "") ? Number(query.get("offset")) : 0;
  return {
    call_site: site === "all" ? null : site,
    session: query.get("session"),
    cause: query.get("cause"),
    fate: fate?.fate ?? null,
    text: query.get("text"),
    order: by === "lost" || by === "prompt" || by === "hit_rate" ? by : "time",
    offset: Math.min(offset, LAST_OFFSET),
    limit: PAGE,
  };
}
