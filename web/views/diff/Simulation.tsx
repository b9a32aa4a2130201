"use client";

import { useState } from "react";
import type { Schema } from "@/lib/api/client";
import { count, counted, visible } from "@/lib/format";
import { gapName, type Layout } from "@/views/diff/layout";
import { Result } from "@/views/diff/Result";
import { hasEnded, type Job, type Run, useReorder } from "@/views/diff/useReorder";
import styles from "@/views/diff/Diff.module.css";

/** What is under consideration, the button that simulates it, how far that is, and what came of it. */
export function Simulation({
  diagnosis,
  template,
  layout,
  names,
  onLay,
}: {
  diagnosis: Schema<"DiagnosisAnswer">;
  template: Schema<"Template">;
  layout: Layout;
  names: (slot: string) => string;
  onLay: (layout: Layout) => void;
}) {
  const { run, start, cancel, forget } = useReorder(diagnosis.id);
  const [simulated, setSimulated] = useState("");
  const changes = [
    ...layout.fixes.map((id) => `the fix of ${id}`),
    ...layout.moves.map((move) => `${names(move.slot)} put ${gapName(template.pieces, move.before_piece, names)}`),
  ];
  const now = JSON.stringify(layout);
  const busy = run.state === "starting" || (run.state === "followed" && !hasEnded(run.job));
  return (
    <div className={styles.simulation}>
      <h3>Under consideration</h3>
      {changes.length === 0 ? (
        <p className="dim">The prompts as recorded. Accept a proposal or move a slot, then simulate.</p>
      ) : (
        <ul>
          {changes.map((text) => (
            <li key={text}>{visible(text, 300)}</li>
          ))}
        </ul>
      )}
      {diagnosis.can_resimulate ? null : (
        <p>
          It cannot be simulated: {visible(diagnosis.why_not ?? "the requests are not where they were", 500)}
        </p>
      )}
      <p className={styles.buttons}>
        <button
          type="button"
          className={styles.simulate}
          disabled={changes.length === 0 || busy || !diagnosis.can_resimulate}
          onClick={() => {
            setSimulated(now);
            start({ call_site: template.call_site, findings: [...layout.fixes], moves: [...layout.moves] });
          }}
        >
          Simulate
        </button>
        <button
          type="button"
          disabled={changes.length === 0}
          onClick={() => {
            forget();
            onLay({ fixes: [], moves: [] });
          }}
        >
          Start over
        </button>
      </p>
      <Followed run={run} onCancel={cancel} />
      {run.state === "followed" && run.job.state === "done" && run.job.result !== null ? (
        <Result result={run.job.result} stale={simulated !== now} />
      ) : null}
    </div>
  );
}

function Followed({ run, onCancel }: { run: Run; onCancel: () => void }) {
  const job = run.state === "followed" ? run.job : null;
  const running = run.state === "starting" || (job !== null && !hasEnded(job));
  return (
    <>
      <p role="status">{sayRun(run)}</p>
      {running ? (
        <p className={styles.progress}>
          <progress
            aria-label="Progress of the simulation"
            {...(job !== null && job.total > 0 ? { max: job.total, value: job.done } : {})}
          />
          {job !== null && job.total > 0 ? (
            <span className="dim">
              {count(job.done)} of {count(job.total)}
            </span>
          ) : null}
          <button type="button" disabled={job === null} onClick={onCancel}>
            Cancel
          </button>
        </p>
      ) : null}
      {run.state === "failed" || job?.state === "failed" ? (
        <p role="alert" className={styles.failed}>
          It could not be simulated: {visible(run.state === "failed" ? run.problem : (job?.problem ?? ""), 500)}
        </p>
      ) : null}
    </>
  );
}

function sayRun(run: Run): string {
  if (run.state === "starting") return "Starting…";
  if (run.state !== "followed") return "";
  return sayJob(run.job);
}

function sayJob(job: Job): string {
  if (job.state === "waiting") return "Waiting for its turn…";
  if (job.state === "running") return job.stage === "" ? "Running…" : `Running: ${visible(job.stage, 120)}…`;
  if (job.state === "cancelled") return "Cancelled.";
  if (job.state !== "done" || job.result === null) return "";
  return `Done: ${counted(job.result.changed_requests, "prompt")} laid out anew.`;
}
