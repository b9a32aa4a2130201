"use client";

import { useState } from "react";
import { Select } from "@/components/Controls";
import type { Schema } from "@/lib/api/client";
import { counted, visible } from "@/lib/format";
import type { Approvable } from "./approvable";
import { ApproveForm } from "./ApproveForm";
import { Sides } from "./Sides";
import { short } from "./figures";
import { Outcome } from "./Outcome";
import styles from "./Evidence.module.css";

/** One thing that waits for a person, or has been approved: before and after, and the approval. */
export function OutputReview({
  verdict,
  output,
  opened,
  approver,
  onApprover,
  onWritten,
}: {
  verdict: string;
  output: Approvable;
  /** The address asks for this one. */
  opened: boolean;
  approver: string;
  onApprover: (approver: string) => void;
  onWritten: (answer: Schema<"VerdictAnswer">) => void;
}) {
  const [against, setAgainst] = useState("0");
  const { approval, stale, before, after } = output;
  const options = before.map((_, index) => ({ value: String(index), name: `answer ${index + 1} of ${before.length}` }));
  return (
    <article
      className={`${styles.output} ${approval === null ? styles.waits : styles.approved}`}
      ref={opened ? show : undefined}
      aria-label={`${output.check}: ${visible(output.case, 200)}`}
    >
      <h3>
        {visible(output.case, 300)} <Outcome outcome={approval === null ? "waiting" : "approved"} />
      </h3>
      <p>
        <span className="dim">{visible(output.check, 60)}:</span> {visible(output.about, 2000)}{" "}
        <code title={output.sha256}>{short(output.sha256)}</code>
      </p>
      {after === null ? (
        <p className="dim">
          The verdict has no text of it: look at it in the repository. An approval names its digest.
        </p>
      ) : (
        <>
          {before.length > 1 ? (
            <p>
              BEFORE gave {counted(before.length, "different answer")}. {" "}
              <Select label="Compare with" options={options} value={against} onChange={setAgainst} />
            </p>
          ) : null}
          <Sides before={before[Number(against)] ?? null} after={after} />
        </>
      )}
      {approval === null ? null : (
        <p>
          Approved by <strong>{visible(approval.approver, 200)}</strong> because {visible(approval.reason, 2000)}
        </p>
      )}
      {stale === null ? null : (
        <p className={styles.warn}>
          An approval by {visible(stale.approver, 200)} is stale: it is for{" "}
          <code title={stale.sha256}>{short(stale.sha256)}</code>, the answer is now{" "}
          <code title={output.sha256}>{short(output.sha256)}</code>.
        </p>
      )}
      {approval === null ? (
        <ApproveForm
          verdict={verdict}
          output={output}
          approver={approver}
          onApprover={onApprover}
          onWritten={onWritten}
        />
      ) : null}
    </article>
  );
}

function show(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "start" });
}
