"use client";

import { DataTable } from "@/components/DataTable";
import { Figure, OriginTag } from "@/components/Figure";
import type { Schema } from "@/lib/api/client";
import { count, percent } from "@/lib/format";
import { computed, growth, signed } from "@/views/diff/gain";
import styles from "@/views/diff/Diff.module.css";

/** The same requests as recorded and as laid out anew. */
export function Result({ result, stale }: { result: Schema<"ReorderResult">; stale: boolean }) {
  const rows = [
    { name: "This call site", before: result.call_site_before, after: result.call_site_after },
    { name: "Whole trace", before: result.trace_before, after: result.trace_after },
  ];
  return (
    <div className={stale ? styles.stale : undefined}>
      {stale ? <p>Of the layout before the last change: simulate again.</p> : null}
      <Figure
        label="Hit rate at this call site, as recorded → as laid out"
        value={`${percent(result.call_site_before.hit_rate)} → ${percent(result.call_site_after.hit_rate)}`}
        origin="simulated"
      >
        {signed(growth(result.trace_before, result.trace_after))} tokens to compute in the whole trace, which hits{" "}
        {percent(result.trace_before.hit_rate)} → {percent(result.trace_after.hit_rate)}.
      </Figure>
      <DataTable
        caption="As recorded → as laid out, simulated"
        captionHidden
        rows={rows}
        rowKey={(row) => row.name}
        columns={[
          { id: "name", name: "Simulated", head: true, cell: (row) => row.name },
          {
            id: "rate",
            name: "Hit rate",
            figure: true,
            cell: (row) => `${percent(row.before.hit_rate)} → ${percent(row.after.hit_rate)}`,
          },
          {
            id: "compute",
            name: "Tokens to compute",
            figure: true,
            cell: (row) => `${count(computed(row.before))} → ${count(computed(row.after))}`,
          },
        ]}
      />
      <p className="dim">
        <OriginTag origin="simulated" /> No server was asked; measure it with keepwarm replay and keepwarm compare.
      </p>
    </div>
  );
}
