"use client";

import { useRef } from "react";
import plot from "@/components/plot/Plot.module.css";
import { linear } from "@/components/plot/scale";
import { useWidth } from "@/components/plot/useWidth";
import { percent } from "@/lib/format";
import { type Estimate, interval } from "./figures";
import styles from "./Evidence.module.css";

const ROW = 26;
const LEFT = 120;

/** Rates between 0 and 1 with their intervals, a line each. */
export function IntervalBars({ label, rows }: { label: string; rows: { name: string; estimate: Estimate }[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 600);
  const scale = linear(0, 1, LEFT, Math.max(width - 16, LEFT + 50), 5);
  const height = rows.length * ROW + 22;
  const said = rows.map((row) => `${row.name} ${percent(row.estimate.value)}, ${interval(row.estimate, percent)}`);
  return (
    <div ref={frame}>
      <svg width={width} height={height} role="img" aria-label={`${label}: ${said.join("; ")}`} className={plot.drawing}>
        {scale.ticks.map((tick) => (
          <g key={tick}>
            <line className={plot.grid} x1={scale.at(tick)} x2={scale.at(tick)} y1="0" y2={height - 18} />
            <text className={plot.text} x={scale.at(tick)} y={height - 4} textAnchor={tick === 1 ? "end" : "middle"}>
              {percent(tick)}
            </text>
          </g>
        ))}
        {rows.map(({ name, estimate }, index) => {
          const y = (index + 0.5) * ROW;
          return (
            <g key={name}>
              <text className={plot.text} x="0" y={y + 4}>
                {name}
              </text>
              {estimate.low === null || estimate.high === null ? null : (
                <line className={styles.bar} x1={scale.at(estimate.low)} x2={scale.at(estimate.high)} y1={y} y2={y} />
              )}
              <line className={styles.point} x1={scale.at(estimate.value)} x2={scale.at(estimate.value)} y1={y - 8} y2={y + 8} />
            </g>
          );
        })}
      </svg>
    </div>
  );
}
