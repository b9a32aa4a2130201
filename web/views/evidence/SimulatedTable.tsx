"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import type { Schema } from "@/lib/api/client";
import { count, percent, visible } from "@/lib/format";

interface Row {
  run: "BEFORE" | "AFTER";
  simulated: Schema<"SimulatedRun">;
}

const MOST_NAMED = 20;

const COLUMNS: readonly Column<Row>[] = [
  { id: "run", name: "run", head: true, cell: (row) => row.run },
  { id: "tokens", name: "tokens of", cell: ({ simulated }) => (simulated.tokens_of === "server" ? "the server" : `tokenizer ${visible(simulated.tokens_of, 80)}`) },
  { id: "policy", name: "policy", cell: ({ simulated }) => visible(simulated.policy, 60) },
  { id: "measured", name: "measured", figure: true, cell: ({ simulated }) => percent(simulated.measured_hit_rate) },
  { id: "simulated", name: "simulated", figure: true, cell: ({ simulated }) => percent(simulated.simulated_hit_rate) },
  { id: "residual", name: "residual", title: "measured less simulated", figure: true, cell: ({ simulated }) => `${simulated.residual_points.toFixed(2)} points` },
  { id: "equal", name: "equal requests", figure: true, cell: ({ simulated }) => `${count(simulated.equal_requests)} of ${count(simulated.requests)}` },
  { id: "lengths", name: "other lengths", title: "requests whose prompt this tokenizer makes longer or shorter than the server did", figure: true, cell: ({ simulated }) => count(simulated.other_lengths) },
];

/** The model of the cache held against the server: the same requests, simulated and measured. */
export function SimulatedTable({ before, after }: { before: Schema<"SimulatedRun">[]; after: Schema<"SimulatedRun">[] }) {
  const rows: Row[] = [
    ...before.map((simulated): Row => ({ run: "BEFORE", simulated })),
    ...after.map((simulated): Row => ({ run: "AFTER", simulated })),
  ];
  return (
    <section aria-labelledby="simulated">
      <h2 id="simulated">
        <OriginTag origin="simulated" /> against <OriginTag origin="measured" /> hit rates
      </h2>
      {rows.length === 0 ? (
        <p className="dim">No run was simulated.</p>
      ) : (
        <DataTable
          caption="Hit rates of the same requests, by the model of the cache and by the server"
          captionHidden
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => `${row.run} ${row.simulated.tokens_of} ${row.simulated.policy}`}
          detail={differing}
        />
      )}
    </section>
  );
}

function differing({ simulated }: Row) {
  const { differing: found } = simulated;
  if (found.length === 0) return null;
  return (
    <p>
      Measured otherwise than simulated:{" "}
      {found
        .slice(0, MOST_NAMED)
        .map((entry) => `${visible(entry.id, 60)} ${count(entry.measured_tokens)} for ${count(entry.simulated_tokens)}`)
        .join(", ")}
      {found.length > MOST_NAMED ? `, and ${count(found.length - MOST_NAMED)} more` : ""} tokens.
    </p>
  );
}
