"use client";

import type { ReactNode } from "react";
import { Command } from "@/components/Command";
import type { Loaded } from "@/lib/api/use";
import styles from "@/components/States.module.css";

/** What is shown while an answer is under way. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className={styles.loading}>
      Loading {what}…
    </p>
  );
}

/** What is shown where there is nothing: why, and the command that makes it. */
export function Empty({ what, run, children }: { what: string; run?: string; children?: ReactNode }) {
  return (
    <section className={styles.empty} aria-label={what}>
      <p>{what}</p>
      {run === undefined ? null : (
        <>
          <p className="dim">To make one, run:</p>
          <Command run={run} />
        </>
      )}
      {children}
    </section>
  );
}

/** What is shown where an answer failed: the server's own line. */
export function Failure({ what, problem }: { what: string; problem: string }) {
  return (
    <p role="alert" className={styles.failure}>
      {what} could not be shown: {problem}
    </p>
  );
}

/** An answer in its four states; `children` gets it when it is there. */
export function When<T>({
  loaded,
  what,
  children,
}: {
  loaded: Loaded<T>;
  what: string;
  children: (answer: T) => ReactNode;
}) {
  if (loaded.state === "ready") return <>{children(loaded.answer)}</>;
  if (loaded.state === "failed") return <Failure what={what} problem={loaded.problem.message} />;
  if (loaded.state === "loading" && loaded.previous !== null) {
    return <div aria-busy="true">{children(loaded.previous)}</div>;
  }
  return loaded.state === "idle" ? null : <Loading what={what} />;
}
