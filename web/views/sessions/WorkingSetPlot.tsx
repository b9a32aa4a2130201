"use client";

import { type KeyboardEvent, useMemo } from "react";
import { brief, linear } from "@/components/plot/scale";
import { count, counted, seconds } from "@/lib/format";
import { type Axis, GUTTER_PX } from "./axis";
import { filled, indexAt, stepPath } from "./series";
import type { Timeline } from "./segments";
import styles from "./Sessions.module.css";

const SET_PX = 130;
const COUNTS_PX = 64;
const HEAD_PX = 8;

/** What all live sessions want to hold, what of it is cached, and M; below, who waits and who runs. */
export function WorkingSetPlot({
  name,
  timeline,
  axis,
  most,
  cursor_s,
  onCursor,
}: {
  name: string;
  timeline: Timeline;
  axis: Axis;
  /** The largest values of all runs shown: runs are drawn to one scale. */
  most: { tokens: number; requests: number };
  cursor_s: number | null;
  onCursor: (time_s: number | null) => void;
}) {
  const set = timeline.working_set;
  const right = axis.x(axis.seen.to_s);
  const tokens = useMemo(() => linear(0, most.tokens * 1.06, SET_PX, HEAD_PX, 3), [most.tokens]);
  const requests = useMemo(
    () => linear(0, Math.max(1, most.requests) * 1.1, SET_PX + COUNTS_PX, SET_PX + 12, 2),
    [most.requests],
  );
  const paths = useMemo(() => {
    const path = (values: number[], y: (value: number) => number) => stepPath(set.at_s, values, axis.seen, axis.x, y);
    return {
      wanted: path(set.wanted_tokens, tokens.at),
      cached: filled(path(set.cached_tokens, tokens.at), axis.x(axis.seen.from_s), SET_PX),
      waiting: path(set.waiting, requests.at),
      running: path(set.running, requests.at),
    };
  }, [set, axis, tokens, requests]);
  const limit = tokens.at(timeline.capacity_tokens);
  const said = sayAt(timeline, cursor_s ?? axis.seen.from_s);
  const pressed = (event: KeyboardEvent) => {
    const step = (axis.seen.to_s - axis.seen.from_s) / 50;
    const by: Record<string, number> = { ArrowRight: step, ArrowLeft: -step, PageUp: 10 * step, PageDown: -10 * step };
    const change = by[event.key];
    if (change === undefined) return;
    event.preventDefault();
    const next = (cursor_s ?? axis.seen.from_s) + change;
    onCursor(Math.min(Math.max(next, axis.seen.from_s), axis.seen.to_s));
  };
  return (
    <>
      <div
        className={styles.plot}
        role="slider"
        tabIndex={0}
        aria-label={`Working set over time, ${name}`}
        aria-valuemin={0}
        aria-valuemax={Math.round(timeline.makespan_s)}
        aria-valuenow={Math.round(cursor_s ?? axis.seen.from_s)}
        aria-valuetext={said}
        onKeyDown={pressed}
        onPointerMove={(event) => {
          const at = axis.time(event.clientX - event.currentTarget.getBoundingClientRect().left);
          onCursor(at >= axis.seen.from_s && at <= axis.seen.to_s ? at : null);
        }}
        onPointerLeave={() => onCursor(null)}
      >
        <svg width={axis.width} height={SET_PX + COUNTS_PX + 20} aria-hidden="true" className={styles.drawing}>
          {axis.ticks.map((tick) => (
            <g key={tick}>
              <line className={styles.grid} x1={axis.x(tick)} x2={axis.x(tick)} y1={HEAD_PX} y2={SET_PX + COUNTS_PX} />
              <text className={styles.name} x={axis.x(tick)} y={SET_PX + COUNTS_PX + 15} textAnchor="middle">
                {axis.label(tick)}
              </text>
            </g>
          ))}
          {tokens.ticks.map((tick) => (
            <text key={tick} className={styles.name} x={GUTTER_PX - 6} y={tokens.at(tick) + 4} textAnchor="end">
              {brief(tick)}
            </text>
          ))}
          {requests.ticks
            .filter((tick) => Number.isInteger(tick))
            .map((tick) => (
              <text key={tick} className={styles.name} x={GUTTER_PX - 6} y={requests.at(tick) + 4} textAnchor="end">
                {brief(tick)}
              </text>
            ))}
          <path d={paths.cached} className={styles.cached} />
          <path d={paths.wanted} className={styles.wanted} />
          <path d={paths.waiting} className={styles.waitingLine} />
          <path d={paths.running} className={styles.running} />
          <line className={styles.grid} x1={GUTTER_PX} x2={right} y1={SET_PX} y2={SET_PX} />
          <line className={styles.limit} x1={GUTTER_PX} x2={right} y1={limit} y2={limit} />
          <text className={styles.label} x={right - 4} y={limit - 5} textAnchor="end">
            M = {count(timeline.capacity_tokens)} tokens
          </text>
          <text className={styles.name} x="0" y={HEAD_PX + 8}>
            tokens
          </text>
          <text className={styles.name} x="0" y={SET_PX + 24}>
            requests
          </text>
          {cursor_s === null ? null : (
            <line className={styles.cursor} x1={axis.x(cursor_s)} x2={axis.x(cursor_s)} y1="0" y2={SET_PX + COUNTS_PX} />
          )}
        </svg>
      </div>
      <p className={styles.readout} role="status">
        {said}
      </p>
    </>
  );
}

function sayAt(timeline: Timeline, time_s: number): string {
  const set = timeline.working_set;
  const index = indexAt(set.at_s, time_s);
  if (index < 0) return `At ${seconds(time_s)}: nothing yet`;
  const of = (values: number[]) => values[index] ?? 0;
  return (
    `At ${seconds(time_s)}: ${counted(of(set.wanted_tokens), "token")} wanted (${share(of(set.wanted_tokens), timeline)} of M), ` +
    `${count(of(set.cached_tokens))} of them cached; ${count(of(set.waiting))} waiting, ${count(of(set.running))} running`
  );
}

function share(tokens: number, timeline: Timeline): string {
  return `${((100 * tokens) / (timeline.capacity_tokens || 1)).toFixed(0)}%`;
}
