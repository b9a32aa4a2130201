"use client";

import { useCallback, useEffect, useMemo, useState } from "react";
import { useQuery } from "@/lib/url";

const LATE_MS = 250;

/**
 * The query of the address, with changes that are seen at once and written a moment later: browsers allow only
 * so many changes of an address a second, and a zoom or a held arrow key makes more.
 */
export function useLateQuery(): { query: URLSearchParams; change: (changes: Record<string, string | null>) => void } {
  const { query, set } = useQuery();
  const [late, setLate] = useState<Record<string, string | null>>({});
  useEffect(() => {
    if (Object.keys(late).length === 0) return;
    const writing = setTimeout(() => {
      set(late, "replace");
      setLate({});
    }, LATE_MS);
    return () => clearTimeout(writing);
  }, [late, set]);
  const change = useCallback(
    (changes: Record<string, string | null>) => setLate((before) => ({ ...before, ...changes })),
    [],
  );
  const written = query.toString();
  const seen = useMemo(() => {
    const together = new URLSearchParams(written);
    for (const [name, value] of Object.entries(late)) {
      if (value === null) together.delete(name);
      else together.set(name, value);
    }
    return together;
  }, [written, late]);
  return { query: seen, change };
}
