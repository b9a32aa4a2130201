"use client";

import { useCallback, useEffect, useRef, useState } from "react";
import { ApiProblem, change, get, type Schema } from "@/lib/api/client";

export type Job = Schema<"Job">;
export type Run =
  | { state: "none" }
  | { state: "starting" }
  | { state: "followed"; job: Job }
  | { state: "failed"; problem: string };

export function hasEnded(job: Job): boolean {
  return job.state === "done" || job.state === "failed" || job.state === "cancelled";
}

/** One simulation on demand: start it, hear how far it is, cancel it. Leaving the page cancels it, too. */
export function useReorder(diagnosis: string): {
  run: Run;
  start: (call: Schema<"ReorderCall">) => void;
  cancel: () => void;
  forget: () => void;
} {
  const [run, setRun] = useState<Run>({ state: "none" });
  const heard = useRef<EventSource | null>(null);
  const running = useRef<string | null>(null);
  const turn = useRef(0);

  const stop = useCallback(() => {
    turn.current += 1;
    heard.current?.close();
    heard.current = null;
    if (running.current !== null) {
      change("DELETE", `/api/jobs/${running.current}`).catch(() => undefined);
      running.current = null;
    }
  }, []);
  useEffect(() => stop, [stop]);

  const follow = useCallback((job: Job, mine: number) => {
    if (turn.current !== mine) return;
    const take = (news: Job) => {
      if (turn.current !== mine) return;
      if (hasEnded(news)) {
        running.current = null;
        heard.current?.close();
        heard.current = null;
      }
      setRun({ state: "followed", job: news });
    };
    take(job);
    if (hasEnded(job)) return;
    running.current = job.id;
    const stream = new EventSource(`/api/jobs/${job.id}/events`);
    heard.current = stream;
    stream.addEventListener("job", (event) => take(JSON.parse(String(event.data)) as Job));
    stream.onerror = () => {
      // A stream that broke is taken up again by the browser; one that was refused is closed: ask once, plainly.
      if (stream.readyState !== EventSource.CLOSED || turn.current !== mine) return;
      get("/api/jobs/{job}", { path: { job: job.id } }).then(take, (error: unknown) => {
        if (turn.current === mine) setRun({ state: "failed", problem: said(error) });
      });
    };
  }, []);

  const start = useCallback(
    (call: Schema<"ReorderCall">) => {
      stop();
      const mine = turn.current;
      setRun({ state: "starting" });
      change<Job>("POST", `/api/diagnoses/${diagnosis}/reorders`, call).then(
        (job) => {
          if (turn.current === mine) follow(job, mine);
          else change("DELETE", `/api/jobs/${job.id}`).catch(() => undefined);
        },
        (error: unknown) => {
          if (turn.current === mine) setRun({ state: "failed", problem: said(error) });
        },
      );
    },
    [diagnosis, follow, stop],
  );
  const cancel = useCallback(() => {
    const id = running.current;
    if (id === null) return;
    change<Job>("DELETE", `/api/jobs/${id}`).catch((error: unknown) => {
      setRun({ state: "failed", problem: said(error) });
    });
  }, []);
  const forget = useCallback(() => {
    stop();
    setRun({ state: "none" });
  }, [stop]);
  return { run, start, cancel, forget };
}

function said(error: unknown): string {
  return error instanceof ApiProblem ? error.message : String(error);
}
