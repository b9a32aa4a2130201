"use client";

import type { Schema } from "@/lib/api/client";
import { tokens, visible } from "@/lib/format";
import { type Layout, withFixes } from "@/views/diff/layout";
import styles from "@/views/diff/Diff.module.css";

/** Changes that the findings suggest, to be accepted by a button. */
export function Proposals({
  template,
  layout,
  onLay,
}: {
  template: Schema<"Template">;
  layout: Layout;
  onLay: (layout: Layout) => void;
}) {
  if (template.proposals.length === 0) {
    return <p className="dim">No finding here proposes a change. Slots can be moved all the same.</p>;
  }
  return (
    <ul className={styles.proposals}>
      {template.proposals.map((proposal) => {
        const name = proposal.findings.join(" + ");
        const accepted = proposal.findings.every((id) => layout.fixes.includes(id));
        return (
          <li key={name} className={accepted ? styles.accepted : undefined}>
            <p>
              <strong>{visible(name, 100)}</strong> <span>{visible(proposal.suggestion, 500)}</span>
            </p>
            <p>
              <button
                type="button"
                aria-pressed={accepted}
                onClick={() => onLay(withFixes(layout, proposal.findings))}
              >
                {accepted ? "✓ Accepted" : "Accept"}
                <span className="hidden"> {name}</span>
              </button>{" "}
              {tokens(proposal.recoverable_tokens)} recoverable{" "}
              <span className="dim">(simulated with the diagnosis)</span>
            </p>
          </li>
        );
      })}
    </ul>
  );
}
