"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import type { Schema } from "@/lib/api/client";
import { count, percent, seconds, visible } from "@/lib/format";
import { type MergedRow, overSeeds, type ServingRow, spread } from "./figures";

function column(
  id: string,
  name: string,
  of: (row: ServingRow) => number,
  shown: (value: number) => string,
): Column<MergedRow> {
  return {
    id,
    name,
    figure: true,
    sort: (merged) => spread(merged.rows, of).mean,
    cell: (merged) => {
      const { mean, low, high } = spread(merged.rows, of);
      if (merged.rows.length === 1) return shown(mean);
      return (
        <>
          {shown(mean)}{" "}
          <span className="dim">
            ({shown(low)} to {shown(high)})
          </span>
        </>
      );
    },
  };
}

const COLUMNS: readonly Column<MergedRow>[] = [
  { id: "scheduling", name: "queue order", head: true, cell: (row) => visible(row.scheduling, 60), sort: (row) => row.scheduling },
  { id: "eviction", name: "eviction", cell: (row) => visible(row.eviction, 60), sort: (row) => row.eviction },
  { id: "sessions", name: "sessions", figure: true, cell: (row) => count(row.sessions), sort: (row) => row.sessions },
  { id: "seeds", name: "seeds", figure: true, cell: (row) => row.rows.map((seeded) => seeded.seed).join(", ") },
  column("completion", "mean completion", (row) => row.session_completion_s, seconds),
  column("p50", "latency P50", (row) => row.request_latency_s.p50, seconds),
  column("p99", "latency P99", (row) => row.request_latency_s.p99, seconds),
  column("ttft", "TTFT P50", (row) => row.ttft_s.p50, seconds),
  column("evicted", "evicted blocks", (row) => row.evicted_blocks, count),
  column("hits", "hit rate", (row) => row.hit_rate, percent),
  column("recomputed", "recomputed tokens", (row) => row.recomputed_tokens, count),
  column("goodput", "tokens/s", (row) => row.token_goodput, count),
];

/** A serving simulation: a row for each order, eviction and number of sessions, over its seeds. */
export function ServingTable({ report }: { report: Schema<"ServingReport"> }) {
  const merged = overSeeds(report.rows);
  const several = merged.some((row) => row.rows.length > 1);
  const { server, input, conditions } = report;
  return (
    <>
      <p>
        <OriginTag origin="simulated" /> {visible(server.profile, 80)}: a cache of {count(server.capacity_blocks)} blocks
        of {count(input.block_size)} tokens, steps of {count(server.step_tokens)} tokens; {count(input.sessions)} sessions
        and {count(input.requests)} requests of {visible(input.path, 200)}; sessions {visible(conditions.population, 40)}.
        {several ? " Several seeds: the mean, and the least and most of the seeds in brackets." : ""}
      </p>
      <DataTable
        caption="By queue order, eviction and number of sessions"
        columns={COLUMNS}
        rows={merged}
        rowKey={(row) => row.key}
      />
    </>
  );
}
