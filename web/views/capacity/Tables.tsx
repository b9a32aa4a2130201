"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { Link } from "@/components/Link";
import { count, counted, percent, visible } from "@/lib/format";
import { gibOf, recordedOf, type RecordedHits, type Row, type Simulation, type Sizes, sizesOf } from "./model";

function sizeText(simulation: Simulation, blocks: number | null | undefined) {
  if (blocks === null || blocks === undefined) return "more than was tried";
  const gib = gibOf(simulation, blocks);
  return (
    <>
      {counted(blocks, "block")}{" "}
      <span className="dim">
        {counted(blocks * simulation.cache.block_size, "token")}
        {gib === null ? "" : `, ${Number(gib.toPrecision(3))} GiB`}
      </span>
    </>
  );
}

/** Sizes for shares of the ceiling. */
export function SizesTable({ simulation, chosen }: { simulation: Simulation; chosen: string[] }) {
  const rows = sizesOf(simulation, chosen);
  const shares = [...new Set(rows.flatMap((row) => row.sizes.map((size) => size.percent_of_ceiling)))];
  const columns: Column<Sizes>[] = [
    { id: "policy", name: "policy", head: true, cell: (row) => visible(row.policy, 60) },
    ...shares.map((share) => ({
      id: String(share),
      name: `${share}% of the ceiling: ${percent((share / 100) * simulation.ceiling.hit_rate)} hit`,
      figure: true,
      cell: (row: Sizes) => sizeText(simulation, row.sizes.find((size) => size.percent_of_ceiling === share)?.capacity_blocks),
    })),
  ];
  if (simulation.ceiling.hit_tokens === 0) {
    return <p className="dim">No size gives a hit: as recorded, no prompt begins with a block of an earlier one.</p>;
  }
  if (rows.length === 0) {
    return <p className="dim">The document has no sizes: they come with --curve, and not with --sample.</p>;
  }
  return <DataTable caption="Smallest caches for a share of the ceiling (simulated)" captionHidden columns={columns} rows={rows} rowKey={(row) => row.policy} />;
}

/** The rows of the document: a policy at a capacity. */
export function RowsTable({ simulation, rows }: { simulation: Simulation; rows: Row[] }) {
  const ceiling = simulation.ceiling.hit_tokens;
  const server = simulation.server?.usable_blocks;
  const columns: Column<Row>[] = [
    { id: "policy", name: "policy", head: true, cell: (row) => visible(row.policy, 60), sort: (row) => row.policy },
    { id: "blocks", name: "blocks", figure: true, cell: (row) => (row.capacity_blocks === server ? `${count(row.capacity_blocks)}, this GPU` : count(row.capacity_blocks)), sort: (row) => row.capacity_blocks },
    { id: "tokens", name: "tokens", figure: true, cell: (row) => count(row.capacity_blocks * simulation.cache.block_size) },
    ...(rows.some((row) => row.kv_gib !== null) ? [{ id: "gib", name: "GiB", figure: true, cell: (row: Row) => (row.kv_gib === null ? "" : Number(row.kv_gib.toPrecision(3))) }] : []),
    { id: "rate", name: "hit rate", figure: true, cell: (row) => percent(row.hit_rate), sort: (row) => row.hit_rate },
    { id: "share", name: "of the ceiling", figure: true, cell: (row) => (ceiling === 0 ? "" : percent(row.hit_tokens / ceiling)), sort: (row) => row.hit_tokens },
    { id: "hits", name: "hit tokens", figure: true, cell: (row) => count(row.hit_tokens), sort: (row) => row.hit_tokens },
    { id: "evicted", name: "evicted blocks", figure: true, cell: (row) => count(row.evicted_blocks), sort: (row) => row.evicted_blocks },
    { id: "again", name: "asked for again", figure: true, cell: (row) => count(row.evicted_then_requested_blocks), sort: (row) => row.evicted_then_requested_blocks },
    ...(["p50_blocks", "p90_blocks", "p99_blocks"] as const).map((name) => ({
      id: name,
      name: `reuse ${name.slice(0, 3).toUpperCase()}`,
      title: "blocks handed out between eviction and reuse",
      figure: true,
      cell: (row: Row) => (row.reuse_after_eviction === null ? "" : count(row.reuse_after_eviction[name])),
    })),
    ...(rows.some((row) => row.cut_answers > 0) ? [{ id: "cut", name: "cut answers", figure: true, cell: (row: Row) => count(row.cut_answers) }] : []),
  ];
  return <DataTable caption="Policies at the capacities that were simulated" captionHidden columns={columns} rows={rows} rowKey={(row) => `${row.policy} ${row.capacity_blocks}`} />;
}

const RECORDED: readonly Column<RecordedHits>[] = [
  { id: "policy", name: "policy", head: true, cell: ({ row }) => visible(row.policy, 60) },
  { id: "blocks", name: "blocks", figure: true, cell: ({ row }) => count(row.capacity_blocks) },
  { id: "recorded", name: "recorded hit rate", figure: true, cell: (entry) => percent(entry.recorded_rate) },
  { id: "simulated", name: "simulated hit rate", figure: true, cell: (entry) => percent(entry.simulated_rate) },
  { id: "residual", name: "residual", title: "recorded less simulated", figure: true, cell: (entry) => `${entry.residual_points.toFixed(2)} points`, sort: (entry) => Math.abs(entry.residual_points) },
  { id: "equal", name: "equal requests", figure: true, cell: ({ row }) => `${count(row.recorded_hits?.equal_requests ?? 0)} of ${count(row.recorded_hits?.requests ?? 0)}` },
  {
    id: "worst",
    name: "most apart",
    cell: ({ row }) =>
      (row.recorded_hits?.worst ?? [])
        .slice(0, 3)
        .map((worst) => `line ${worst.line}: ${count(worst.recorded_tokens)} for ${count(worst.simulated_tokens)}`)
        .join("; "),
  },
];

/** What the server recorded as cached, beside what the simulation says: never one for the other. */
export function RecordedTable({ rows, requests }: { rows: Row[]; requests: string | null }) {
  const found = recordedOf(rows);
  if (found.length === 0) {
    return <p className="dim">The trace records no cached tokens: there is nothing to hold the simulation against.</p>;
  }
  return (
    <>
      <p>
        <OriginTag origin="recorded" /> <code>cached_tokens</code> of the answers against <OriginTag origin="simulated" />{" "}
        hits, over the {counted(found[0]?.row.recorded_hits?.requests ?? 0, "request")} that recorded them.{" "}
        {requests === null ? null : <Link href={requests}>The requests</Link>}
      </p>
      <DataTable caption="Recorded against simulated hit rates" captionHidden columns={RECORDED} rows={found} rowKey={({ row }) => `${row.policy} ${row.capacity_blocks}`} />
    </>
  );
}

const EVENTS: readonly Column<Row>[] = [
  { id: "policy", name: "policy", head: true, cell: (row) => visible(row.policy, 60) },
  { id: "blocks", name: "blocks", figure: true, cell: (row) => count(row.capacity_blocks) },
  { id: "stored", name: "stored, simulated", figure: true, cell: (row) => count(row.recorded_events?.simulated_stored_blocks ?? 0) },
  { id: "stored_residual", name: "recorded less simulated", figure: true, cell: (row) => count(row.recorded_events?.stored_residual_blocks ?? 0) },
  { id: "evicted", name: "evicted, simulated", figure: true, cell: (row) => count(row.recorded_events?.simulated_evicted_blocks ?? 0) },
  { id: "evicted_residual", name: "recorded less simulated", figure: true, cell: (row) => count(row.recorded_events?.evicted_residual_blocks ?? 0) },
];

/** A recording of KV events against the simulated ones; nothing where there is none. */
export function EventsTable({ rows }: { rows: Row[] }) {
  const found = rows.filter((row) => row.recorded_events !== null);
  if (found.length === 0) return null;
  return <DataTable caption="Recorded KV events against simulated ones" columns={EVENTS} rows={found} rowKey={(row) => `${row.policy} ${row.capacity_blocks}`} />;
}
