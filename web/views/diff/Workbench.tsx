"use client";

import { useMemo } from "react";
import type { Schema } from "@/lib/api/client";
import { counted, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { AlignedTable } from "@/views/diff/AlignedTable";
import { type Layout, readLayout, writeLayout } from "@/views/diff/layout";
import { Proposals } from "@/views/diff/Proposals";
import { slotNames } from "@/views/diff/names";
import { Simulation } from "@/views/diff/Simulation";
import { TemplateText } from "@/views/diff/TemplateText";
import styles from "@/views/diff/Diff.module.css";

/** The template with its slots, what could be changed in it, and the requests beneath. */
export function Workbench({
  diagnosis,
  template,
}: {
  diagnosis: Schema<"DiagnosisAnswer">;
  template: Schema<"Template">;
}) {
  const { query, set } = useQuery();
  const layout = readLayout(query, template);
  const names = useMemo(() => slotNames(template.slots), [template]);
  const lay = (next: Layout) => set(writeLayout(next), "replace");
  return (
    <>
      {template.note === "" ? null : <p className={styles.note}>{visible(template.note, 600)}</p>}
      <div className={styles.bench}>
        <section aria-labelledby="template" className={styles.column}>
          <h2 id="template">Template</h2>
          {template.pieces.length === 0 ? (
            <p className="dim">There is no text to show.</p>
          ) : (
            <TemplateText diagnosis={diagnosis.id} template={template} layout={layout} names={names} onLay={lay} />
          )}
        </section>
        <section aria-labelledby="change" className={styles.column}>
          <h2 id="change">Lay it out otherwise</h2>
          <Proposals diagnosis={diagnosis.id} template={template} layout={layout} onLay={lay} />
          <Simulation diagnosis={diagnosis} template={template} layout={layout} names={names} onLay={lay} />
        </section>
      </div>
      <h2 id="aligned">Requests, aligned</h2>
      <p className="dim">
        {template.requests.length < template.requests_in_all
          ? `${counted(template.requests.length, "request")} of ${counted(template.requests_in_all, "request")}, in recorded order.`
          : `${counted(template.requests_in_all, "request")}, in recorded order.`}{" "}
        ◆ and a bar: another value than in the row before.
      </p>
      <AlignedTable diagnosis={diagnosis.id} template={template} names={names} />
    </>
  );
}
