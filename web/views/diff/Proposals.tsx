"use client";

import { atRequests } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { tokens, visible } from "@/lib/format";
import { type Layout, withFixes } from "@/views/diff/layout";
import styles from "@/views/diff/Diff.module.css";

/** Changes that the findings suggest, to be accepted by a button. */
export function Proposals({
  diagnosis,
  template,
  layout,
  onLay,
}: {
  diagnosis: string;
  template: Schema<"Template">;
  layout: Layout;
  onLay: (layout: Layout) => void;
}) {
  if (template.proposals.length === 0) {
    const movable = template.slots.some((slot) => slot.movable);
    return (
      <p className="dim">
        No finding here proposes a change{movable ? "; slots can be moved all the same" : ", and no slot can be moved"}.
      </p>
    );
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
              <a href={atRequests(diagnosis, { site: template.call_site, by: "lost" })}>{tokens(proposal.recoverable_tokens)}</a>{" "}
              recoverable{" "}
              <span className="dim">(simulated with the diagnosis)</span>
            </p>
          </li>
        );
      })}
    </ul>
  );
}
