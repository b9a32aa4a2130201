"use client";

import { useCallback, useEffect, useId, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { DataTable } from "@/components/DataTable";
import { colourOf, onThemeChange } from "@/components/Theme";
import { type Axis, type Line, moved, readout, shown } from "@/lib/readout";
import styles from "@/components/Chart.module.css";

/** A place worth a line of its own: upright at an x, say the size of this GPU, or across at a y, say a ceiling. */
export type Mark = { name: string } & ({ x: number } | { y: number });

interface Props {
  /** What the chart shows, in one line. */
  label: string;
  x: Axis;
  y: Axis;
  /** Ascending; every line has one value for each. */
  at: readonly number[];
  lines: readonly Line[];
  marks?: readonly Mark[];
  height?: number;
  /** Hears where the cursor stands, as an index into `at`. */
  onCursor?: (index: number) => void;
}

/**
 * Lines over one axis, on a canvas. A cursor follows the mouse and the arrow keys, and what it stands on is said
 * in words; all values are in a table beneath. Give `lines` and `at` a stable identity (useMemo): a new one draws anew.
 */
export function Chart({ label, x, y, at, lines, marks = NO_MARKS, height = 280, onCursor }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const id = useId();
  const now = useRef({ x, y, onCursor });
  useEffect(() => {
    now.current = { x, y, onCursor };
  });
  useEffect(() => {
    const element = box.current;
    if (element === null || at.length === 0) return;
    const moveTo = (index: number) => {
      setCursor(index);
      now.current.onCursor?.(index);
    };
    const draw = () => {
      plot.current?.destroy();
      const data = [at, ...lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
      const options = plotOptions(element, now.current.x, now.current.y, lines, marks, height, moveTo);
      plot.current = new uPlot(options, data, element);
    };
    draw();
    const stop = onThemeChange(draw);
    const watching = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    watching.observe(element);
    return () => {
      stop();
      watching.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [at, lines, marks, height]);
  const place = useCallback(
    (index: number) => {
      setCursor(index);
      now.current.onCursor?.(index);
      const drawn = plot.current;
      const value = at[index];
      if (drawn !== null && value !== undefined) {
        drawn.setCursor({ left: drawn.valToPos(value, "x"), top: drawn.over.clientHeight / 2 }, false);
      }
    },
    [at],
  );
  if (at.length === 0) return <p className="dim">{label}: no values.</p>;
  const here = Math.min(cursor ?? at.length - 1, at.length - 1);
  const said = readout(x, y, at[here] ?? 0, lines, here);
  return (
    <figure className={styles.figure}>
      <figcaption id={id}>{label}</figcaption>
      <div
        role="slider"
        tabIndex={0}
        className={styles.slider}
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={at.length - 1}
        aria-valuenow={here}
        aria-valuetext={said}
        onFocus={() => place(here)}
        onKeyDown={(event) => {
          const to = moved(event.key, here, at.length);
          if (to === null) return;
          event.preventDefault();
          place(to);
        }}
      >
        <div ref={box} className={styles.box} />
      </div>
      <Legend lines={lines} marks={marks} />
      <p className={styles.said}>{cursor === null ? `${x.name} against ${y.name}; arrow keys read it.` : said}</p>
      <Values label={label} x={x} y={y} at={at} lines={lines} />
    </figure>
  );
}

const NO_MARKS: readonly Mark[] = [];

function Legend({ lines, marks }: { lines: readonly Line[]; marks: readonly Mark[] }) {
  return (
    <ul className={styles.legend} aria-label="Lines">
      {lines.map((line) => (
        <li key={line.name}>
          <svg className={styles.sample} aria-hidden="true">
            <line
              x1="0"
              x2="28"
              y1="6"
              y2="6"
              strokeWidth="2.5"
              strokeDasharray={line.dash?.join(" ")}
              ref={(element) => element?.style.setProperty("stroke", `var(${line.colour})`)}
            />
          </svg>
          {line.name}
        </li>
      ))}
      {marks.map((mark) => (
        <li key={mark.name} className="dim">
          <span aria-hidden="true">{"x" in mark ? "┊" : "┄"}</span> {mark.name}
        </li>
      ))}
    </ul>
  );
}

function Values({ label, x, y, at, lines }: Pick<Props, "label" | "x" | "y" | "at" | "lines">) {
  const [open, setOpen] = useState(false);
  const rows = open ? shown(at.length) : [];
  return (
    <details className={styles.values} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The values as a table</summary>
      {open ? (
        <DataTable
          caption={rows.length < at.length ? `${label}: ${rows.length} of ${at.length} places` : label}
          rows={rows}
          rowKey={(index) => index}
          columns={[
            { id: "x", name: x.name, head: true, cell: (index: number) => x.format(at[index] ?? 0) },
            ...lines.map((line) => ({
              id: line.name,
              name: line.name,
              figure: true,
              cell: (index: number) => {
                const value = line.values[index];
                return value === null || value === undefined ? "–" : y.format(value);
              },
            })),
          ]}
        />
      ) : null}
    </details>
  );
}

function plotOptions(
  element: HTMLElement,
  x: Axis,
  y: Axis,
  lines: readonly Line[],
  marks: readonly Mark[],
  height: number,
  onCursor: (index: number) => void,
): uPlot.Options {
  const dim = colourOf("--dim", element);
  const grid = { stroke: colourOf("--line", element), width: 1 };
  const font = "12px system-ui, sans-serif";
  const axis = (named: Axis, size: number): uPlot.Axis => ({
    label: named.name,
    labelFont: font,
    font,
    stroke: dim,
    grid,
    ticks: grid,
    size,
    values: (_, splits) => splits.map((value) => (value === null ? "" : named.format(value))),
  });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, points: { size: 7 } },
    scales: { x: { time: false, ...distribution(x) }, y: distribution(y) },
    axes: [axis(x, 44), axis(y, 64)],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        label: line.name,
        stroke: colourOf(line.colour, element),
        width: 2,
        ...(line.dash === undefined ? {} : { dash: [...line.dash] }),
        ...(line.stepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        points: { show: line.points ?? false, size: 6 },
      })),
    ],
    hooks: {
      setCursor: [
        (drawn) => {
          if (typeof drawn.cursor.idx === "number") onCursor(drawn.cursor.idx);
        },
      ],
      draw: [(drawn) => drawMarks(drawn, marks, dim)],
    },
  };
}

function distribution(axis: Axis): uPlot.Scale {
  const { from, to } = axis;
  return {
    ...(axis.log ? { distr: 3 as const, log: 2 as const } : {}),
    ...(from === undefined && to === undefined
      ? {}
      : { range: (_: uPlot, low: number, high: number) => [from ?? low, to ?? high] as [number, number] }),
  };
}

function drawMarks(drawn: uPlot, marks: readonly Mark[], colour: string): void {
  const { ctx, bbox } = drawn;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.setLineDash([3, 3]);
  const { left, top, width, height } = bbox;
  for (const mark of marks) {
    const upright = "x" in mark;
    const at = upright ? drawn.valToPos(mark.x, "x", true) : drawn.valToPos(mark.y, "y", true);
    const [from, length] = upright ? [left, width] : [top, height];
    if (at < from || at > from + length) continue;
    ctx.beginPath();
    ctx.moveTo(upright ? at : left, upright ? top : at);
    ctx.lineTo(upright ? at : left + width, upright ? top + height : at);
    ctx.stroke();
  }
  ctx.restore();
}
