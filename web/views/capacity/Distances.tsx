"use client";

import { type KeyboardEvent, useRef, useState } from "react";
import { Select } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import plot from "@/components/plot/Plot.module.css";
import { brief, linear } from "@/components/plot/scale";
import { useWidth } from "@/components/plot/useWidth";
import { count, counted, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { type Bin, binsOf, type Row } from "./model";
import styles from "./Capacity.module.css";

const HEIGHT = 170;
const LEFT = 56;
const BOTTOM = HEIGHT - 40;

function keyOf(row: Row): string {
  return `${row.policy} ${row.capacity_blocks}`;
}

/** How soon evicted blocks were asked for again: what a larger cache, or a better policy, would have kept. */
export function Distances({ rows }: { rows: Row[] }) {
  const { query, set } = useQuery();
  const lost = rows.filter((row) => row.reuse_after_eviction !== null);
  const row = lost.find((candidate) => keyOf(candidate) === query.get("distances")) ?? lost[0];
  if (row === undefined) {
    return <p>Nothing that was evicted was asked for again, by these policies at these capacities.</p>;
  }
  const bins = binsOf(row);
  return (
    <>
      <div className={styles.controls}>
        <Select
          label="Policy and capacity"
          options={lost.map((option) => ({
            value: keyOf(option),
            name: `${visible(option.policy, 60)}, ${counted(option.capacity_blocks, "block")}`,
          }))}
          value={keyOf(row)}
          onChange={(key) => set({ distances: key }, "replace")}
        />
        <OriginTag origin="simulated" />
      </div>
      <p>
        {count(row.evicted_then_requested_blocks)} of {counted(row.evicted_blocks, "evicted block")} were asked for again.
        {row.reuse_after_eviction === null ? null : (
          <>
            {" "}
            Half of them within {counted(row.reuse_after_eviction.p50_blocks, "block")} handed out in between, 90% within{" "}
            {count(row.reuse_after_eviction.p90_blocks)}, 99% within {count(row.reuse_after_eviction.p99_blocks)} (upper
            ends of bins: less than twice the exact figure).
          </>
        )}
      </p>
      {bins === null ? null : <Bars bins={bins} label={`Evict→reuse distances, ${keyOf(row)} blocks`} />}
    </>
  );
}

const COLUMNS: readonly Column<Bin>[] = [
  { id: "distance", name: "blocks handed out in between", head: true, cell: rangeOf },
  { id: "blocks", name: "evicted blocks asked for again", figure: true, cell: (bin) => count(bin.blocks) },
];

function rangeOf(bin: Bin): string {
  return bin.from_blocks === bin.to_blocks ? count(bin.to_blocks) : `${count(bin.from_blocks)} to ${count(bin.to_blocks)}`;
}

function Bars({ bins, label }: { bins: Bin[]; label: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 700);
  const largest = bins.reduce((best, bin, index) => (bin.blocks > (bins[best]?.blocks ?? 0) ? index : best), 0);
  const [at, setAt] = useState<number | null>(null);
  const here = at === null || at >= bins.length ? largest : at;
  const y = linear(0, Math.max(...bins.map((bin) => bin.blocks), 1), BOTTOM, 10, 4);
  const step = Math.max(width - LEFT - 10, 50) / bins.length;
  const bin = bins[here];
  const said = bin === undefined ? "" : `${rangeOf(bin)} blocks in between: ${counted(bin.blocks, "evicted block")} asked for again`;
  const pressed = (event: KeyboardEvent) => {
    const next: Record<string, number> = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: bins.length - 1 };
    const asked = next[event.key];
    if (asked === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max(asked, 0), bins.length - 1));
  };
  const every = Math.max(1, Math.ceil(52 / step));
  return (
    <>
      <div
        ref={frame}
        className={plot.frame}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={1}
        aria-valuemax={bins.length}
        aria-valuenow={here + 1}
        aria-valuetext={said}
        onKeyDown={pressed}
        onPointerMove={(event) => {
          const index = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / step);
          setAt(index >= 0 && index < bins.length ? index : null);
        }}
        onPointerLeave={() => setAt(null)}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true" className={plot.drawing}>
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line className={plot.grid} x1={LEFT} x2={width - 10} y1={y.at(tick)} y2={y.at(tick)} />
              <text className={plot.text} x={LEFT - 8} y={y.at(tick) + 4} textAnchor="end">
                {brief(tick)}
              </text>
            </g>
          ))}
          {bins.map((drawn, index) => (
            <rect
              key={drawn.to_blocks}
              className={index === here ? styles.barHere : styles.bar}
              x={LEFT + index * step + 1}
              width={Math.max(step - 2, 1)}
              y={y.at(drawn.blocks)}
              height={BOTTOM - y.at(drawn.blocks)}
            />
          ))}
          {bins.map((drawn, index) =>
            index % every === 0 ? (
              <text key={drawn.to_blocks} className={plot.text} x={LEFT + (index + 1) * step} y={BOTTOM + 16} textAnchor="end">
                ≤ {brief(drawn.to_blocks)}
              </text>
            ) : null,
          )}
          <text className={plot.text} x={(LEFT + width) / 2} y={HEIGHT - 6} textAnchor="middle">
            blocks handed out between eviction and reuse
          </text>
        </svg>
      </div>
      <p className={plot.readout} role="status">
        {said}
      </p>
      <details>
        <summary>The bins as a table</summary>
        <DataTable caption={label} captionHidden columns={COLUMNS} rows={bins} rowKey={(row) => row.to_blocks} />
      </details>
    </>
  );
}
