"use client";

import { type FormEvent, useId, useState } from "react";
import { Panel } from "@/components/Panel";
import { ApiProblem, change, type Schema } from "@/lib/api/client";
import { count, visible } from "@/lib/format";
import { type Approvable, fieldErrors } from "./approvable";
import { Facts } from "./Facts";
import { MOST_CHARS } from "./Sides";
import { TextBox } from "./TextBox";
import styles from "./Evidence.module.css";

/** A person's word for one output: name and reason, then a look at exactly what is approved. */
export function ApproveForm({
  verdict,
  output,
  approver,
  onApprover,
  onWritten,
}: {
  verdict: string;
  output: Approvable;
  /** Kept from one output to the next. */
  approver: string;
  onApprover: (approver: string) => void;
  onWritten: (answer: Schema<"VerdictAnswer">) => void;
}) {
  const id = useId();
  const [reason, setReason] = useState("");
  const [tried, setTried] = useState(false);
  const [asking, setAsking] = useState(false);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const errors = tried ? fieldErrors(approver, reason) : {};
  const call: Schema<"ApprovalCall"> = {
    check: output.check,
    case: output.case,
    sha256: output.sha256,
    approver: approver.trim(),
    reason: reason.trim(),
  };
  const asked = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    setProblem(null);
    const wrong = fieldErrors(approver, reason);
    const first = wrong.approver === undefined ? wrong.reason && "reason" : "approver";
    if (first === undefined) setAsking(true);
    else document.getElementById(`${id}-${first}`)?.focus();
  };
  const approve = () => {
    setSending(true);
    change<Schema<"VerdictAnswer">>("POST", `/api/verdicts/${encodeURIComponent(verdict)}/approvals`, call).then(
      (answer) => onWritten(answer),
      (error: unknown) => {
        setSending(false);
        setAsking(false);
        setProblem(saidOf(error));
      },
    );
  };
  return (
    <>
      <form className={styles.form} onSubmit={asked} noValidate aria-label={`Approve ${visible(output.case, 200)}`}>
        <Field id={`${id}-approver`} label="Your name" error={errors.approver}>
          {(described) => (
            <input {...described} value={approver} maxLength={200} autoComplete="name" onChange={(event) => onApprover(event.target.value)} />
          )}
        </Field>
        <Field id={`${id}-reason`} label="Why it may change" error={errors.reason}>
          {(described) => (
            <textarea {...described} value={reason} rows={2} maxLength={2000} onChange={(event) => setReason(event.target.value)} />
          )}
        </Field>
        {problem === null ? null : (
          <p role="alert" className={styles.error}>
            Not approved: {visible(problem, 1000)}
          </p>
        )}
        <div>
          <button type="submit" className={styles.primary}>
            Approve…
          </button>
        </div>
      </form>
      {asking ? (
        <Panel title="Approve exactly this?" onClose={() => setAsking(false)}>
          <Facts
            facts={[
              ["check", visible(call.check, 60)],
              ["case", visible(call.case, 300)],
              ["sha256", <code key="sha256">{call.sha256}</code>],
              ["approver", visible(call.approver, 200)],
              ["reason", visible(call.reason, 2000)],
            ]}
          />
          {output.after === null ? (
            <p>{visible(output.about, 2000)}</p>
          ) : (
            <>
              <h3>The answer that is approved</h3>
              <TextBox label="The answer that is approved">
                {visible(output.after.text, MOST_CHARS)}
                {output.after.tool_calls.map((toolCall) => `\n${visible(toolCall)}`).join("")}
              </TextBox>
              {output.after.text.length > MOST_CHARS ? (
                <p className={styles.warn}>
                  The first {count(MOST_CHARS)} of {count(output.after.text.length)} characters are shown; the sha256 is of
                  all of it.
                </p>
              ) : null}
            </>
          )}
          <p className="dim">
            The approval is written into the approvals file beside the verdict. It helps this answer and no other: one
            changed word, and it is stale.
          </p>
          <div className={styles.controls}>
            <button type="button" className={styles.primary} disabled={sending} onClick={approve}>
              {sending ? "Writing…" : "Approve"}
            </button>
            <button type="button" disabled={sending} onClick={() => setAsking(false)}>
              Cancel
            </button>
          </div>
        </Panel>
      ) : null}
    </>
  );
}

function saidOf(error: unknown): string {
  if (!(error instanceof ApiProblem)) return String(error);
  return error.status === 409 ? `${error.message} Load the page again to see what is there now.` : error.message;
}

interface Described {
  id: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

function Field({
  id,
  label,
  error,
  children,
}: {
  id: string;
  label: string;
  error: string | undefined;
  children: (described: Described) => React.ReactNode;
}) {
  const said = `${id}-error`;
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-invalid": error !== undefined, "aria-describedby": error === undefined ? undefined : said })}
      {error === undefined ? null : (
        <span id={said} className={styles.error}>
          {error}
        </span>
      )}
    </div>
  );
}
