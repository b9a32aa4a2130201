"use client";

import { CauseChip, Confidence, OwnerChip } from "@/components/Chips";
import { Command } from "@/components/Command";
import { Link } from "@/components/Link";
import type { Schema } from "@/lib/api/client";
import { atRequests } from "@/lib/address";
import { counted, tokens, visible } from "@/lib/format";
import styles from "@/components/FindingCard.module.css";

/** One finding: what breaks the prefix, where, what removing it gives back, and what to do next. */
export function FindingCard({
  finding,
  diagnosis,
  file,
}: {
  finding: Schema<"Finding">;
  diagnosis: string;
  /** Where the diagnosis lies, for the command that exports a task; null: unknown. */
  file?: string | null;
}) {
  const { evidence } = finding;
  const rows = atRequests(diagnosis, { site: finding.call_site, cause: finding.cause });
  return (
    <article className={styles.finding} aria-label={`Finding ${finding.id}`}>
      <p className={styles.head}>
        <strong>{visible(finding.id)}</strong> <CauseChip cause={finding.cause} /> <OwnerChip owner={finding.owner} />{" "}
        <Confidence value={finding.confidence} />
        <span>
          <Link href={rows}>
            <strong>{tokens(finding.recoverable_tokens)}</strong>
          </Link>{" "}
          recoverable <span className="dim">(simulated)</span>
        </span>
        <Link href={rows}>{counted(finding.requests, "request")}</Link>
      </p>
      <p>
        {finding.path === null ? "In no single place of the prompt" : <code>{visible(finding.path)}</code>}
        {finding.token_offset === null ? null : <>, at token {finding.token_offset.toLocaleString("en-GB")}</>}
        {finding.slot_type === null ? null : <>, a slot of type {visible(finding.slot_type)}</>}
        {finding.added_tokens > 0 ? <>; the fix itself adds {tokens(finding.added_tokens)}</> : null}
      </p>
      <Break evidence={evidence} diagnosis={diagnosis} />
      <p>{visible(finding.suggestion)}</p>
      {finding.fixable ? (
        <Command
          run={`keepwarm task export ${finding.id} --repo YOUR-CHECKOUT --diagnosis ${file ?? "DIR/diagnosis.json"} --out task.md`}
        />
      ) : (
        <p className="dim">No change of the application’s source fixes it: it is the {finding.owner}’s.</p>
      )}
    </article>
  );
}

function Break({ evidence, diagnosis }: { evidence: Schema<"Evidence">; diagnosis: string }) {
  const request = (id: string) => <Link href={atRequests(diagnosis, { text: id })}>{visible(id, 80)}</Link>;
  return (
    <div className={styles.evidence}>
      {evidence.before === "" && evidence.values.length === 0 ? null : (
        <code className={styles.text}>
          <span className="dim">{visible(evidence.before)}</span>
          {evidence.values.map((value, place) => (
            <span key={place}>
              {place === 0 ? "" : <span className="dim"> or </span>}
              <mark>{visible(value, 2_000) || "nothing"}</mark>
            </span>
          ))}
          <span className="dim">{visible(evidence.after)}</span>
        </code>
      )}
      {evidence.note === "" ? null : <p>{visible(evidence.note)}</p>}
      {evidence.request === null ? null : (
        <p className="dim">
          Seen in {request(evidence.request)}
          {evidence.compared_with === null ? null : <> against {request(evidence.compared_with)}</>}
        </p>
      )}
    </div>
  );
}
