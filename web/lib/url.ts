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

/** Go to an address of the page that is open, without asking for the page again. */
export function go(at: string, how: "push" | "replace" = "push"): void {
  if (how === "push") window.history.pushState(null, "", at);
  else window.history.replaceState(null, "", at);
  window.dispatchEvent(new Event(CHANGED));
}

export type Changes = Record<string, string | null>;

/** A query with some of it changed; null and the empty text take out. */
export function changed(search: string, changes: Changes): string {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const asked = next.toString();
  return asked ? `?${asked}` : "";
}

/**
 * The query of the address. `set` changes some of it (null takes out); `replace` leaves no step to go back to.
 * `ready` is false while the page comes to life and its address is not known yet: ask for nothing then.
 * `to` is the address that `set` would go to, for links.
 */
export function useQuery(): {
  query: URLSearchParams;
  ready: boolean;
  set: (changes: Changes, how?: "push" | "replace") => void;
  to: (changes: Changes) => string;
} {
  const search = useSyncExternalStore<string | null>(
    subscribe,
    () => window.location.search,
    () => null,
  );
  const set = useCallback((changes: Changes, how: "push" | "replace" = "push") => {
    go(window.location.pathname + changed(window.location.search, changes) + window.location.hash, how);
  }, []);
  // An empty query is written as "?": an address of "" would keep the old one.
  const to = (changes: Changes) => changed(search ?? "", changes) || "?";
  return { query: new URLSearchParams(search ?? ""), ready: search !== null, set, to };
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
