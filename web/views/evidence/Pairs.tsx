"use client";

import { Choice, Pager } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { When } from "@/components/States";
import { useApi } from "@/lib/api/use";
import { count, seconds, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { delta, type Estimate, type PairRow } from "./figures";
import { PairedDeltas } from "./PairedDeltas";
import styles from "./Evidence.module.css";

const PAGE = 50;
/** So many dots can still be told apart; the table goes through all pairs. */
const MOST_DOTS = 1_000;

const ORDERS = [
  { value: "sorted", name: "by difference" },
  { value: "recorded", name: "as recorded" },
] as const;

function known(value: number | null, shown: (value: number) => string): string {
  return value === null ? "none" : shown(value);
}

const COLUMNS: readonly Column<PairRow>[] = [
  { id: "id", name: "request", head: true, cell: (row) => visible(row.id, 80) },
  { id: "session", name: "session", cell: (row) => visible(row.session ?? "", 60) },
  { id: "status", name: "ended", cell: (row) => (row.before_status === row.after_status ? row.after_status : `${row.before_status} / ${row.after_status}`) },
  { id: "prompt", name: "prompt tokens", figure: true, cell: (row) => both(row.before_prompt_tokens, row.after_prompt_tokens) },
  { id: "cached0", name: "cached before", figure: true, cell: (row) => known(row.before_cached_tokens, count) },
  { id: "cached1", name: "cached after", figure: true, cell: (row) => known(row.after_cached_tokens, count) },
  { id: "ttft0", name: "TTFT before", figure: true, cell: (row) => known(row.before_ttft_s, seconds) },
  { id: "ttft1", name: "TTFT after", figure: true, cell: (row) => known(row.after_ttft_s, seconds) },
  {
    id: "delta",
    name: "difference",
    figure: true,
    cell: (row) =>
      row.before_ttft_s === null || row.after_ttft_s === null ? "" : delta(row.after_ttft_s - row.before_ttft_s),
  },
  { id: "output", name: "text", cell: (row) => row.output },
];

function both(before: number | null, after: number | null): string {
  return before === after ? known(before, count) : `${known(before, count)} → ${known(after, count)}`;
}

/** The pairs behind a comparison: their differences drawn, and their rows. */
export function Pairs({ id, median, total }: { id: string; median: Estimate; total: number }) {
  const { query, set } = useQuery();
  const order = query.get("order") === "recorded" ? "recorded" : "sorted";
  const asked = Math.max(0, Math.floor(Number(query.get("offset") ?? 0)) || 0);
  const offset = asked - (asked % PAGE);
  const current = query.get("pair");
  const by = total > MOST_DOTS && order === "sorted" ? "ttft" : "recorded";
  const dots = useApi("/api/comparisons/{id}/pairs", { path: { id }, query: { order: by, limit: MOST_DOTS } });
  const page = useApi("/api/comparisons/{id}/pairs", {
    path: { id },
    query: { order: by, offset, limit: PAGE },
  });
  const goTo = (row: number, name: string | undefined) => {
    set({ offset: String(row - (row % PAGE)), pair: name ?? null }, "replace");
    document.getElementById("pairs")?.scrollIntoView({ block: "start" });
  };
  return (
    <section aria-labelledby="deltas">
      <h2 id="deltas">
        Time to first token, pair by pair <OriginTag origin="measured" />
      </h2>
      <div className={styles.controls}>
        <Choice legend="Order" options={ORDERS} value={order} onChange={(value) => set({ order: value, offset: null }, "replace")} />
      </div>
      <When loaded={dots} what="The pairs">
        {(answer) => (
          <>
            {answer.total > MOST_DOTS ? (
              <p className="dim">
                The {count(MOST_DOTS)} {by === "ttft" ? "pairs that changed most" : "first pairs"} of {count(answer.total)}{" "}
                are drawn; the table has all.
              </p>
            ) : null}
            <PairedDeltas
              pairs={answer.pairs}
              median={median}
              order={order}
              onRow={(row) => goTo(row, answer.pairs[row]?.id)}
            />
          </>
        )}
      </When>
      <h3 id="pairs">Rows</h3>
      <When loaded={page} what="The rows">
        {(answer) => (
          <>
            <Pager what="pair" total={answer.total} offset={offset} limit={PAGE} onOffset={(next) => set({ offset: String(next), pair: null }, "replace")} />
            <DataTable
              caption="The pairs of the comparison (measured)"
              captionHidden
              columns={COLUMNS}
              rows={answer.pairs}
              rowKey={(row) => row.id}
              current={current}
            />
          </>
        )}
      </When>
    </section>
  );
}
