"use client";

import { useEffect, useState } from "react";
import { address, type AnswerOf, ApiProblem, type Call, get } from "@/lib/api/client";

type Path = Parameters<typeof get>[0];

export type Loaded<T> =
  | { state: "idle" }
  | { state: "loading"; previous: T | null }
  | { state: "ready"; answer: T }
  | { state: "failed"; problem: ApiProblem };

/**
 * An answer of the API, asked for again whenever the call changes; `null` asks for nothing.
 * While a new answer is under way the one before is still there as `previous`.
 */
export function useApi<P extends Path>(template: P, call: Call<P> | null, version = 0): Loaded<AnswerOf<P>> {
  const key = call === null ? null : `${address(template, call)}#${version}`;
  const [held, setHeld] = useState<{ key: string | null; loaded: Loaded<AnswerOf<P>> }>({
    key: null,
    loaded: { state: "idle" },
  });
  useEffect(() => {
    if (key === null || call === null) return;
    const leaving = new AbortController();
    get(template, { ...call, signal: leaving.signal }).then(
      (answer) => setHeld({ key, loaded: { state: "ready", answer } }),
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        const problem = error instanceof ApiProblem ? error : new ApiProblem(0, String(error));
        setHeld({ key, loaded: { state: "failed", problem } });
      },
    );
    return () => leaving.abort();
    // The key says all that the call holds.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key]);
  if (key === null) return { state: "idle" };
  if (held.key === key) return held.loaded;
  return { state: "loading", previous: held.loaded.state === "ready" ? held.loaded.answer : null };
}
