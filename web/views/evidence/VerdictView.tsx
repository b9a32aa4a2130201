"use client";

import { useEffect, useRef, useState } from "react";
import { CauseChip } from "@/components/Chips";
import { Command } from "@/components/Command";
import { type Column, DataTable } from "@/components/DataTable";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count, counted, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { approvables } from "./approvable";
import { verifyCommand } from "./command";
import { Facts } from "./Facts";
import { short } from "./figures";
import { OutputReview } from "./OutputReview";
import { Outcome } from "./Outcome";
import { TextBox } from "./TextBox";
import styles from "./Evidence.module.css";

type Verdict = Schema<"VerdictAnswer">;
type Answer = Schema<"Answer">;

/** The guard's verdict: its checks, the changed outputs beside each other, and approvals. */
export function VerdictView({ id }: { id: string }) {
  const loaded = useApi("/api/verdicts/{id}", { path: { id } });
  const [written, setWritten] = useState<Verdict | null>(null);
  return (
    <When loaded={loaded} what="The verdict">
      {(answer) => <Judged answer={written ?? answer} onWritten={setWritten} />}
    </When>
  );
}

function Judged({ answer, onWritten }: { answer: Verdict; onWritten: (answer: Verdict) => void }) {
  const { verdict } = answer;
  const [approver, setApprover] = useState("");
  const [said, setSaid] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  // The form that had the focus is gone once its output is approved.
  useEffect(() => {
    if (said !== "") heading.current?.focus();
  }, [said]);
  const { query } = useQuery();
  const found = approvables(answer);
  const waiting = found.filter((output) => output.approval === null).length;
  return (
    <>
      <h2>
        Verdict <Outcome outcome={verdict.outcome} />
      </h2>
      {answer.digest_holds ? null : (
        <p role="alert" className={styles.bad}>
          The verdict is not as it was written: its digest does not hold. Run keepwarm verify again.
        </p>
      )}
      {answer.problem === null ? null : (
        <p role="alert" className={styles.bad}>
          {visible(answer.problem, 1000)}
        </p>
      )}
      <VerdictFacts answer={answer} />
      <h3>Checks</h3>
      <DataTable boxed={false} caption="Checks of the guard, all of them" captionHidden columns={CHECK_COLUMNS} rows={verdict.answers} rowKey={(row) => row.check} detail={problems} />
      {found.length === 0 ? null : (
        <section aria-labelledby="outputs">
          <h2 id="outputs" ref={heading} tabIndex={-1}>
            What a person may approve: {count(waiting)} waiting, {count(found.length - waiting)} approved
          </h2>
          <p role="status">{said}</p>
          {answer.saved_masked ? (
            <p className="dim">
              Secrets and personal data are covered: the verdict was written so. With <code>keepwarm verify --reveal</code>{" "}
              outputs are as recorded.
            </p>
          ) : null}
          {found.map((output) => (
            <OutputReview
              key={output.key}
              verdict={answer.id}
              output={output}
              opened={query.get("case") === output.case}
              approver={approver}
              onApprover={setApprover}
              onWritten={(next) => {
                onWritten(next);
                setSaid(`Approved: ${visible(output.check, 60)}, ${visible(output.case, 200)}. The command to run next is below.`);
              }}
            />
          ))}
        </section>
      )}
      <Approved answer={answer} />
    </>
  );
}

function VerdictFacts({ answer: { verdict, digest } }: { answer: Verdict }) {
  const { inputs } = verdict;
  return (
    <Facts
      facts={[
        ["finding", <span key="finding">{visible(verdict.finding, 60)} <CauseChip cause={verdict.cause} /> at {visible(verdict.call_site, 120)}</span>],
        ["task", visible(verdict.task_id, 80)],
        ["commits", <span key="commits"><code title={verdict.base}>{visible(verdict.base.slice(0, 12))}</code> → <code title={verdict.head}>{visible(verdict.head.slice(0, 12))}</code></span>],
        ["traffic", `${inputs.before === null ? "none before" : visible(inputs.before.name, 120)}, ${inputs.after === null ? "none after" : visible(inputs.after.name, 120)}`],
        ["golden cases", inputs.golden === null ? "not given" : counted(inputs.golden.length, "file")],
        ["tests", inputs.tests === null ? "not given" : <code key="tests">{visible(inputs.tests, 300)}</code>],
        ["digest", <code key="digest" title={digest}>{short(digest)}</code>],
      ]}
    />
  );
}

const CHECK_COLUMNS: readonly Column<Answer>[] = [
  { id: "outcome", name: "outcome", cell: (row) => <Outcome outcome={row.outcome} /> },
  { id: "check", name: "check", head: true, cell: (row) => visible(row.check, 60) },
  { id: "looked", name: "looked at", cell: (row) => visible(row.looked_at, 1000) },
  { id: "problems", name: "problems", figure: true, cell: (row) => count(row.problems.length) },
];

function problems(answer: Answer) {
  if (answer.problems.length === 0 && answer.output === "") return null;
  return (
    <>
      <ul className={styles.problems}>
        {answer.problems.map((problem) => (
          <li key={problem.where + problem.what}>
            <strong>{visible(problem.where, 300)}</strong>: {visible(problem.what, 1000)}.{" "}
            <span className="dim">Next: {visible(problem.next_step, 500)}</span>
          </li>
        ))}
      </ul>
      {answer.output === "" ? null : (
        <TextBox label={`Output of ${visible(answer.check, 60)}`}>{visible(answer.output)}</TextBox>
      )}
    </>
  );
}

function Approved({ answer }: { answer: Verdict }) {
  const { approvals, verdict } = answer;
  const unused = verdict.approvals_unused;
  if (approvals.length === 0 && verdict.approvals_used.length === 0 && unused.length === 0) return null;
  return (
    <section aria-labelledby="approvals">
      <h2 id="approvals">Approvals</h2>
      <ul>
        {approvals.map((approval) => (
          <li key={approval.check + approval.case + approval.sha256}>
            {visible(approval.case, 120)} (<code title={approval.sha256}>{short(approval.sha256)}</code>) approved by{" "}
            {visible(approval.approver, 120)} because {visible(approval.reason, 500)}
          </li>
        ))}
        {unused.map(({ approval, why }) => (
          <li key={`${why}${approval.check}${approval.case}${approval.sha256}`}>
            <strong className={styles.warn}>{why}</strong>: {visible(approval.case, 120)} by{" "}
            {visible(approval.approver, 120)}{" "}
            {why === "stale" ? "is for something else than what the case needs approved now." : "helps no problem of this verdict."}
          </li>
        ))}
      </ul>
      {approvals.length === 0 ? null : (
        <>
          <p>
            The approvals are in <code>{visible(answer.approvals_path, 200)}</code>. The verdict takes them into account
            when it is made again; only names of files are recorded, so put in where they are, and REPO and GOLDEN:
          </p>
          <Command run={visible(verifyCommand(verdict, answer.approvals_path), 4000)} />
        </>
      )}
    </section>
  );
}
