"use client";

import { useCallback, useSyncExternalStore } from "react";

// What a view shows is in its address, so that every address can be sent to a colleague.

const CHANGED = "keepwarm:address";

function subscribe(heard: () => void): () => void {
  window.addEventListener("popstate", heard);
  window.addEventListener(CHANGED, heard);
  return () => {
    window.removeEventListener("popstate", heard);
    window.removeEventListener(CHANGED, heard);
  };
}

/** The query of the address. `set` changes some of it (null takes out); `replace` leaves no step to go back to. */
export function useQuery(): {
  query: URLSearchParams;
  set: (changes: Record<string, string | null>, how?: "push" | "replace") => void;
} {
  const search = useSyncExternalStore(
    subscribe,
    () => window.location.search,
    () => "",
  );
  const set = useCallback((changes: Record<string, string | null>, how: "push" | "replace" = "push") => {
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "") next.delete(name);
      else next.set(name, value);
    }
    const asked = next.toString();
    const at = window.location.pathname + (asked ? `?${asked}` : "") + window.location.hash;
    if (how === "push") window.history.pushState(null, "", at);
    else window.history.replaceState(null, "", at);
    window.dispatchEvent(new Event(CHANGED));
  }, []);
  return { query: new URLSearchParams(search), set };
}

/** An address within the dashboard. */
export function link(view: string, query: Record<string, string | number | null | undefined> = {}): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  const at = view === "" ? "/" : `/${view}/`;
  return text ? `${at}?${text}` : at;
}
