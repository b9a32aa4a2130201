"use client";

import { type KeyboardEvent, useRef, useState } from "react";
import { linear } from "@/components/plot/scale";
import { useWidth } from "@/components/plot/useWidth";
import styles from "@/components/plot/Plot.module.css";

export interface Series {
  name: string;
  /** One entry a category; null: not measured there. */
  values: (number | null)[];
}

const HEIGHT = 200;
const LEFT = 56;
const RIGHT = 20;
const TOP = 14;
const BOTTOM = HEIGHT - 40;

/** A few lines over a few categories that stand at equal distances; told apart by mark, dash and colour. */
export function StepChart({
  label,
  categories,
  axis,
  series,
  shown,
  tick: ticked = shown,
  limit,
}: {
  label: string;
  categories: string[];
  /** What the categories are, with their unit. */
  axis: string;
  series: Series[];
  shown: (value: number) => string;
  /** How values stand on the axis, where that is shorter. */
  tick?: (value: number) => string;
  /** A line across that means something. */
  limit?: { name: string; value: number } | null;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 700);
  const [at, setAt] = useState<number | null>(null);
  const values = series.flatMap((line) => line.values).filter((value) => value !== null);
  const top = Math.max(...values, limit?.value ?? 0, 0);
  const y = linear(0, top > 0 ? top * 1.05 : 1, BOTTOM, TOP, 4);
  const place = (index: number) =>
    LEFT + ((index + 0.5) / Math.max(categories.length, 1)) * Math.max(width - LEFT - RIGHT, 50);
  const last = categories.length - 1;
  const under = Math.max(width - LEFT - RIGHT, 50);
  const said = sayAt(at ?? last, categories, axis, series, shown);
  const pressed = (event: KeyboardEvent) => {
    const now = at ?? last;
    const next: Record<string, number> = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last };
    const asked = next[event.key];
    if (asked === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max(asked, 0), last));
  };
  return (
    <div>
      <ul className={styles.legend} aria-label={`Legend: ${label}`}>
        {series.map((line, index) => (
          <li key={line.name}>
            <svg width="34" height="14" aria-hidden="true">
              <path d="M0 7H34" className={`${styles.line} ${styles[`line${index % 4}`]}`} />
              <Mark kind={index} x={17} y={7} />
            </svg>
            {line.name}
          </li>
        ))}
      </ul>
      <div
        ref={frame}
        className={styles.frame}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={1}
        aria-valuemax={Math.max(categories.length, 1)}
        aria-valuenow={(at ?? last) + 1}
        aria-valuetext={said}
        onKeyDown={pressed}
        onPointerMove={(event) => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
          const index = Math.floor(((x - LEFT) / under) * categories.length);
          setAt(index >= 0 && index <= last ? index : null);
        }}
        onPointerLeave={() => setAt(null)}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true" className={styles.drawing}>
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line className={styles.grid} x1={LEFT} x2={width - RIGHT} y1={y.at(tick)} y2={y.at(tick)} />
              <text className={styles.text} x={LEFT - 8} y={y.at(tick) + 4} textAnchor="end">
                {ticked(tick)}
              </text>
            </g>
          ))}
          {categories.map((category, index) => (
            <text key={category} className={styles.text} x={place(index)} y={BOTTOM + 16} textAnchor="middle">
              {category}
            </text>
          ))}
          <text className={styles.text} x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 6} textAnchor="middle">
            {axis}
          </text>
          {at === null ? null : <line className={styles.cursor} x1={place(at)} x2={place(at)} y1={TOP} y2={BOTTOM} />}
          {limit === undefined || limit === null ? null : (
            <>
              <line className={styles.limit} x1={LEFT} x2={width - RIGHT} y1={y.at(limit.value)} y2={y.at(limit.value)} />
              <text className={styles.mark} x={width - RIGHT} y={y.at(limit.value) - 5} textAnchor="end">
                {limit.name}
              </text>
            </>
          )}
          {series.map((line, index) => (
            <g key={line.name}>
              <path d={pathOf(line.values, place, y.at)} className={`${styles.line} ${styles[`line${index % 4}`]}`} />
              {line.values.map((value, step) =>
                value === null ? null : <Mark key={categories[step]} kind={index} x={place(step)} y={y.at(value)} />,
              )}
            </g>
          ))}
        </svg>
      </div>
      <p className={styles.readout} role="status">
        {said}
      </p>
    </div>
  );
}

function Mark({ kind, x, y }: { kind: number; x: number; y: number }) {
  const className = `${styles.dot} ${styles[`dot${kind % 4}`]}`;
  if (kind % 4 === 0) return <circle className={className} cx={x} cy={y} r="4" />;
  if (kind % 4 === 1) return <rect className={className} x={x - 4} y={y - 4} width="8" height="8" />;
  if (kind % 4 === 2) return <circle className={className} cx={x} cy={y} r="6.5" />;
  return <path className={className} d={`M${x} ${y - 5}L${x + 5} ${y + 4}H${x - 5}z`} />;
}

function pathOf(values: (number | null)[], x: (index: number) => number, y: (value: number) => number): string {
  let path = "";
  let drawing = false;
  values.forEach((value, index) => {
    if (value === null) drawing = false;
    else {
      path += `${drawing ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      drawing = true;
    }
  });
  return path;
}

function sayAt(
  index: number,
  categories: string[],
  axis: string,
  series: Series[],
  shown: (value: number) => string,
): string {
  const parts = series.map((line) => {
    const value = line.values[index];
    return `${line.name} ${value === null || value === undefined ? "nothing" : shown(value)}`;
  });
  return categories.length === 0 ? "nothing measured" : `At ${categories[index]} ${axis}: ${parts.join("; ")}`;
}
