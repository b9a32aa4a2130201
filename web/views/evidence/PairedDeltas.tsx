"use client";

import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import plot from "@/components/plot/Plot.module.css";
import { linear } from "@/components/plot/scale";
import { useWidth } from "@/components/plot/useWidth";
import { seconds, visible } from "@/lib/format";
import { delta, type Dot, dotsOf, type Estimate, extent, interval, type PairRow } from "./figures";
import styles from "./Evidence.module.css";

const HEIGHT = 240;
const LEFT = 64;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = HEIGHT - 26;

/** TTFT after less before, a dot a pair: below the line is faster now. */
export function PairedDeltas({
  pairs,
  median,
  order,
  onRow,
}: {
  pairs: PairRow[];
  median: Estimate;
  order: "recorded" | "sorted";
  onRow: (row: number) => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 700);
  const [at, setAt] = useState(0);
  const dots = useMemo(() => dotsOf(pairs, order), [pairs, order]);
  const scale = useMemo(() => {
    const [low, high] = extent(dots.map((dot) => dot.delta_s), 0, median.low, median.high);
    const room = 0.06 * (high - low);
    return linear(low - room, high + room, BOTTOM, TOP, 5);
  }, [dots, median]);
  if (dots.length === 0) return <p className="dim">No pair has both times.</p>;
  const last = dots.length - 1;
  const step = Math.max(width - LEFT - RIGHT, 50) / dots.length;
  const x = (index: number) => LEFT + (index + 0.5) * step;
  const chosen = Math.min(at, last);
  const dot = dots[chosen];
  const said = dot === undefined ? "" : say(dot);
  const pressed = (event: KeyboardEvent) => {
    const next: Record<string, number> = {
      ArrowRight: chosen + 1,
      ArrowUp: chosen + 1,
      ArrowLeft: chosen - 1,
      ArrowDown: chosen - 1,
      PageUp: chosen + 10,
      PageDown: chosen - 10,
      Home: 0,
      End: last,
    };
    const asked = next[event.key];
    if (asked !== undefined) setAt(Math.min(Math.max(asked, 0), last));
    else if (event.key === "Enter" && dot !== undefined) onRow(dot.row);
    else return;
    event.preventDefault();
  };
  const under = (clientX: number, box: DOMRect) =>
    Math.min(Math.max(Math.floor((clientX - box.left - LEFT) / step), 0), last);
  return (
    <>
      <div
        ref={frame}
        className={styles.strip}
        role="slider"
        tabIndex={0}
        aria-label="Paired TTFT differences, after less before; Enter shows the row"
        aria-valuemin={1}
        aria-valuemax={dots.length}
        aria-valuenow={chosen + 1}
        aria-valuetext={said}
        onKeyDown={pressed}
        onPointerMove={(event) => setAt(under(event.clientX, event.currentTarget.getBoundingClientRect()))}
        onClick={(event) => {
          const row = dots[under(event.clientX, event.currentTarget.getBoundingClientRect())]?.row;
          if (row !== undefined) onRow(row);
        }}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true" className={plot.drawing}>
          {scale.ticks.map((tick) => (
            <g key={tick}>
              <line className={plot.grid} x1={LEFT} x2={width - RIGHT} y1={scale.at(tick)} y2={scale.at(tick)} />
              <text className={plot.text} x={LEFT - 8} y={scale.at(tick) + 4} textAnchor="end">
                {delta(tick)}
              </text>
            </g>
          ))}
          {median.low === null || median.high === null ? null : (
            <rect
              className={styles.band}
              x={LEFT}
              width={width - LEFT - RIGHT}
              y={scale.at(median.high)}
              height={Math.max(scale.at(median.low) - scale.at(median.high), 1)}
            />
          )}
          <line className={styles.zero} x1={LEFT} x2={width - RIGHT} y1={scale.at(0)} y2={scale.at(0)} />
          <line className={styles.median} x1={LEFT} x2={width - RIGHT} y1={scale.at(median.value)} y2={scale.at(median.value)} />
          {dots.map(({ row, delta_s }, index) => (
            <circle
              key={row}
              className={delta_s <= 0 ? styles.faster : styles.slower}
              cx={x(index)}
              cy={scale.at(delta_s)}
              r={Math.min(Math.max(step * 0.38, 1.5), 4)}
            />
          ))}
          {dot === undefined ? null : (
            <circle className={styles.pointed} cx={x(chosen)} cy={scale.at(dot.delta_s)} r="6.5" />
          )}
          <text className={plot.mark} x={LEFT + 4} y={scale.at(0) - 5}>
            as before
          </text>
          <text className={plot.mark} x={LEFT + 4} y={scale.at(median.value) - 5}>
            median {delta(median.value)}
          </text>
          <text className={plot.text} x={(LEFT + width) / 2} y={HEIGHT - 6} textAnchor="middle">
            {order === "sorted" ? "pairs, by rising difference" : "pairs, in recorded order"}
          </text>
        </svg>
      </div>
      <p className={plot.readout} role="status">
        {said}
      </p>
      <p className="dim">
        Median of the paired differences {delta(median.value)}, interval {interval(median, delta)} (the band). Filled
        dots became faster, hollow ones slower.
      </p>
    </>
  );
}

function say(dot: Dot): string {
  return `${visible(dot.id, 80)}: ${seconds(dot.before_s)} before, ${seconds(dot.after_s)} after, ${delta(dot.delta_s)}`;
}
