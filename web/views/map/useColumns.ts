"use client";

import { useEffect, useState } from "react";
import { ApiProblem, get } from "@/lib/api/client";
import { type Columns, Gathered } from "@/views/map/columns";

const FIRST_PAGE = 2_000;
const PAGE = 20_000;
export const MOST_ROWS = 100_000;

export interface ServerFilters {
  callSite: string | null;
  session: string | null;
}

export interface LoadedMap {
  columns: Columns | null;
  /** All that will be asked for is there. */
  complete: boolean;
  problem: ApiProblem | null;
}

const NONE: LoadedMap = { columns: null, complete: false, problem: null };

/** The map, page after page; what is there can be shown while the rest is under way. */
export function useColumns(diagnosis: string, filters: ServerFilters): LoadedMap {
  const { callSite, session } = filters;
  const key = JSON.stringify([diagnosis, callSite, session]);
  const [held, setHeld] = useState<{ key: string; map: LoadedMap }>({ key: "", map: NONE });
  useEffect(() => {
    const leaving = new AbortController();
    const gathered = new Gathered();
    const load = async () => {
      for (;;) {
        const limit = Math.min(gathered.rows === 0 ? FIRST_PAGE : PAGE, MOST_ROWS - gathered.rows);
        const query = { call_site: callSite, session, offset: gathered.rows, limit };
        const call = { path: { id: diagnosis }, query, signal: leaving.signal };
        const page = await get("/api/diagnoses/{id}/map", call);
        if (leaving.signal.aborted) return;
        gathered.add(page);
        const complete = page.index.length === 0 || gathered.rows >= Math.min(page.total, MOST_ROWS);
        setHeld({ key, map: { columns: gathered.columns(), complete, problem: null } });
        if (complete) return;
      }
    };
    load().catch((error: unknown) => {
      if (leaving.signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : new ApiProblem(0, String(error));
      setHeld((before) => ({ key, map: { ...(before.key === key ? before.map : NONE), problem } }));
    });
    return () => leaving.abort();
  }, [key, diagnosis, callSite, session]);
  return held.key === key ? held.map : NONE;
}
