"use client";

import { Pager } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count, percent, seconds, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { Facts, Sentences } from "./Facts";
import { short } from "./figures";
import { IntegrityLine } from "./IntegrityLine";
import styles from "./Evidence.module.css";

type Run = Schema<"keepwarm_replay_measuring_record_Run">;
type Row = Schema<"keepwarm_replay_measuring_record_Row">;
const PAGE = 50;

const COLUMNS: readonly Column<Row>[] = [
  { id: "index", name: "#", figure: true, cell: (row) => row.index + 1 },
  { id: "id", name: "request", head: true, cell: (row) => visible(row.id, 80) },
  { id: "site", name: "call site", cell: (row) => visible(row.call_site ?? "", 80) },
  { id: "session", name: "session", cell: (row) => visible(row.session ?? "", 60) },
  { id: "status", name: "ended", cell: (row) => (row.error === null ? row.status : visible(`${row.status}: ${row.error}`, 200)) },
  { id: "prompt", name: "prompt tokens", figure: true, cell: (row) => known(row.prompt_tokens, count) },
  { id: "cached", name: "cached", figure: true, cell: (row) => known(row.cached_tokens, count) },
  { id: "output", name: "output", figure: true, cell: (row) => known(row.output_tokens, count) },
  { id: "ttft", name: "TTFT", figure: true, cell: (row) => known(row.ttft_s, seconds) },
  { id: "total", name: "in all", figure: true, cell: (row) => known(row.total_s, seconds) },
];

function known(value: number | null, shown: (value: number) => string): string {
  return value === null ? "none" : shown(value);
}

/** One run of requests against a real server. */
export function ReplayView({ id }: { id: string }) {
  const { query, set } = useQuery();
  const offset = Math.max(0, Math.floor(Number(query.get("offset") ?? 0)) || 0);
  const loaded = useApi("/api/replays/{id}", { path: { id } });
  const page = useApi("/api/replays/{id}/requests", { path: { id }, query: { offset, limit: PAGE } });
  return (
    <When loaded={loaded} what="The run">
      {({ run, integrity }) => (
        <>
          <h2>
            Measured run “{visible(run.label, 60)}” <OriginTag origin="measured" />
          </h2>
          <Sentences title="Figures that contradict each other" lines={run.inconsistencies.map((line) => visible(line, 500))} />
          <IntegrityLine integrity={integrity} />
          <RunFacts run={run} />
          <Counters run={run} />
          <h2>Requests</h2>
          <When loaded={page} what="The requests">
            {(rows) => (
              <>
                <Pager what="request" total={rows.total} offset={offset} limit={PAGE} onOffset={(next) => set({ offset: String(next) }, "replace")} />
                <DataTable caption="Requests of the run (measured)" captionHidden columns={COLUMNS} rows={rows.rows} rowKey={(row) => row.index} />
              </>
            )}
          </When>
        </>
      )}
    </When>
  );
}

function RunFacts({ run }: { run: Run }) {
  const { server, conditions, requests, tokens, reset } = run;
  const times = (of: Schema<"Times"> | null) =>
    of === null ? null : `P50 ${seconds(of.p50)}, P90 ${seconds(of.p90)}, P99 ${seconds(of.p99)}`;
  const device = server.device ?? server.device_type;
  return (
    <Facts
      facts={[
        ["hit rate", `${percent(run.hit_rate)}: ${count(tokens.cached)} of ${count(tokens.prompt)} prompt tokens cached`],
        ["TTFT", times(run.ttft_s)],
        ["time in all", times(run.total_s)],
        ["requests", `${count(requests.ok)} succeeded, ${count(requests.failed)} failed, ${count(requests.not_sent)} not sent, in ${seconds(run.wall_s)}`],
        ["failures", run.failures.map((failure) => `${count(failure.requests)} × ${visible(failure.reason, 200)}`).join("; ")],
        ["started", visible(run.started, 60)],
        ["trace", <span key="trace">{visible(run.input.path, 200)} <code title={run.input.sha256}>{short(run.input.sha256)}</code></span>],
        ["server", `vLLM ${visible(server.vllm, 40)}, ${visible(server.model, 120)}, ${count(server.capacity_blocks)} blocks of ${count(server.block_size)} tokens, mode ${visible(server.mode, 40)}`],
        ["device", device === null ? "not known" : visible(device, 200)],
        ["sent", `${conditions.mode}, ${count(conditions.concurrency)} at once, seed ${conditions.seed}${conditions.max_tokens === null ? "" : `, at most ${count(conditions.max_tokens)} tokens an answer`}`],
        ["cache at the start", reset.state === "reset" ? "emptied" : "as it was: a reset was not asked for"],
        ["client", `keepwarm ${visible(run.client.keepwarm, 40)}, Python ${visible(run.client.python, 40)}`],
      ]}
    />
  );
}

interface CounterRow {
  name: string;
  before: number;
  after: number;
}

const COUNTER_COLUMNS: readonly Column<CounterRow>[] = [
  { id: "name", name: "counter", head: true, cell: (row) => <code>{visible(row.name, 120)}</code> },
  { id: "before", name: "before", figure: true, cell: (row) => count(row.before) },
  { id: "after", name: "after", figure: true, cell: (row) => count(row.after) },
  { id: "rise", name: "rise", figure: true, cell: (row) => count(row.after - row.before) },
];

function Counters({ run }: { run: Run }) {
  const rows: CounterRow[] = [
    ...Object.entries(run.counters).map(([name, counter]) => ({ name, ...counter })),
    ...Object.entries(run.plugin_counters).map(([name, [before, after]]) => ({ name, before, after })),
  ];
  if (rows.length === 0) return null;
  return (
    <details className={styles.more}>
      <summary>The server’s own counters around the run ({rows.length})</summary>
      <DataTable caption="Counters of the server" captionHidden columns={COUNTER_COLUMNS} rows={rows} rowKey={(row) => row.name} />
    </details>
  );
}
