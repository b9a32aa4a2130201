"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { count, seconds, visible } from "@/lib/format";
import { allRequests, gapName, type RequestFigures } from "./describe";
import type { SessionTimeline } from "./segments";
import styles from "./Sessions.module.css";

/** Rows of a page. */
export const PAGE = 50;

const COLUMNS: readonly Column<RequestFigures>[] = [
  { id: "request", name: "request", head: true, cell: (row) => row.request + 1, sort: (row) => row.request },
  { id: "arrival", name: "arrives at", figure: true, cell: (row) => seconds(row.arrival_s), sort: (row) => row.arrival_s },
  { id: "waited", name: "waits", figure: true, cell: (row) => seconds(row.waited_s), sort: (row) => row.waited_s },
  { id: "prefill", name: "prefill", figure: true, cell: (row) => seconds(row.prefill_s), sort: (row) => row.prefill_s },
  { id: "decode", name: "decode", figure: true, cell: (row) => seconds(row.decode_s), sort: (row) => row.decode_s },
  { id: "latency", name: "latency", figure: true, cell: (row) => seconds(row.latency_s), sort: (row) => row.latency_s },
  { id: "prompt", name: "prompt tokens", figure: true, cell: (row) => count(row.prompt_tokens), sort: (row) => row.prompt_tokens },
  { id: "hit", name: "hit", figure: true, cell: (row) => count(row.hit_tokens), sort: (row) => row.hit_tokens },
  {
    id: "recomputed",
    name: "computed again",
    title: "tokens that had been cached, were evicted, and were computed again",
    figure: true,
    cell: (row) => count(row.recomputed_tokens),
    sort: (row) => row.recomputed_tokens,
  },
  { id: "reloaded", name: "read back", title: "tokens read from host memory", figure: true, cell: (row) => count(row.reloaded_tokens), sort: (row) => row.reloaded_tokens },
  { id: "output", name: "output tokens", figure: true, cell: (row) => count(row.output_tokens), sort: (row) => row.output_tokens },
  { id: "preempted", name: "preempted", figure: true, cell: (row) => count(row.preemptions), sort: (row) => row.preemptions },
  {
    id: "then",
    name: "then",
    className: styles.then,
    cell: (row) => (row.gap_s === null ? "end" : `${visible(gapName(row.gap), 60)}, ${seconds(row.gap_s)}`),
  },
];

/** The requests of one session: the rows behind its lane. */
export function RequestTable({
  name,
  session,
  current,
  offset,
}: {
  name: string;
  session: SessionTimeline;
  current: number | null;
  offset: number;
}) {
  return (
    <DataTable
      caption={`Requests of ${visible(session.id, 80)}, ${name} (simulated)`}
      columns={COLUMNS}
      rows={allRequests(session).slice(offset, offset + PAGE)}
      rowKey={(row) => row.request}
      current={current}
    />
  );
}
