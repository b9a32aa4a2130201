"use client";

import { useCallback, useMemo, useRef, useState } from "react";
import { Choice, Pager } from "@/components/Controls";
import { useWidth } from "@/components/plot/useWidth";
import { counted, seconds, visible } from "@/lib/format";
import { axisOf } from "./axis";
import { Comparison, type ComparedRun } from "./Comparison";
import { endOf } from "./figures";
import { type Chosen, Lanes } from "./Lanes";
import { Legend } from "./Legend";
import { inOrder, laneOrder, ORDERS, readLaneOrder } from "./order";
import { PlotKey } from "./PlotKey";
import { PAGE, RequestTable } from "./RequestTable";
import { requestsIn, type Timeline } from "./segments";
import type { Seen } from "./series";
import { useLateQuery } from "./useLateQuery";
import { WorkingSetPlot } from "./WorkingSetPlot";
import { moved, readSeen, showing, zoomed } from "./zoom";
import styles from "./Sessions.module.css";

export interface ShownRun extends ComparedRun {
  timeline: Timeline;
}

/** One run, or two beside each other on one time axis: figures, lanes, working set, rows. */
export function Runs({ runs }: { runs: ShownRun[] }) {
  const { query, change } = useLateQuery();
  const [cursor_s, setCursor] = useState<number | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 1000);
  const whole_s = Math.max(...runs.map((run) => endOf(run.timeline)));
  const [from, to] = [query.get("from"), query.get("to")];
  const seen = useMemo(() => readSeen(from, to, whole_s), [from, to, whole_s]);
  const axis = useMemo(() => axisOf(seen, width), [seen, width]);
  const order = readLaneOrder(query.get("order"));
  const ids = useMemo(() => laneOrder(runs[0]?.timeline.sessions ?? [], order), [runs, order]);
  const sessions = useMemo(() => runs.map((run) => inOrder(run.timeline.sessions, ids)), [runs, ids]);
  const most = useMemo(() => mostOf(runs), [runs]);

  const see = useCallback(
    (next: Seen) => {
      const all = next.from_s <= 0 && next.to_s >= whole_s;
      change({ from: all ? null : next.from_s.toFixed(3), to: all ? null : next.to_s.toFixed(3) });
    },
    [change, whole_s],
  );
  const zoom = useCallback(
    (by: number, around_s: number) =>
      see(by === 0 ? { from_s: 0, to_s: whole_s } : zoomed(seen, by, around_s, whole_s)),
    [see, seen, whole_s],
  );
  const move = useCallback((by_s: number) => see(moved(seen, by_s, whole_s)), [see, seen, whole_s]);
  const chosen = readChosen(query);
  const choose = useCallback(
    (next: Chosen, segment: Seen) => {
      change({ session: next.session, request: String(next.request), rows: null });
      see(showing(seen, segment.from_s, segment.to_s, whole_s));
    },
    [change, see, seen, whole_s],
  );
  const found = sessions.map((lanes) => lanes.find((session) => session.id === chosen?.session));
  const most_requests = Math.max(0, ...found.map((session) => (session === undefined ? 0 : requestsIn(session))));
  // Without a page in the address: the one that the chosen request is on.
  const page = Math.floor((chosen?.request ?? 0) / PAGE) * PAGE;
  const offset = Math.max(0, Math.floor(Number(query.get("rows") ?? page)) || 0);
  const middle_s = (seen.from_s + seen.to_s) / 2;
  const span_s = seen.to_s - seen.from_s;
  return (
    <>
      <Comparison runs={runs} />
      <h2>Lanes of the sessions</h2>
      <div className={styles.controls}>
        <Choice legend="Sessions" options={ORDERS} value={order} onChange={(value) => change({ order: value })} />
        <span role="group" aria-label="Time" className={styles.buttons}>
          <button type="button" onClick={() => zoom(2, middle_s)} aria-label="Zoom in">
            +
          </button>
          <button type="button" onClick={() => zoom(0.5, middle_s)} aria-label="Zoom out">
            −
          </button>
          <button type="button" onClick={() => move(-0.25 * span_s)} aria-label="Earlier">
            ←
          </button>
          <button type="button" onClick={() => move(0.25 * span_s)} aria-label="Later">
            →
          </button>
          <button type="button" onClick={() => zoom(0, 0)}>
            Whole run
          </button>
        </span>
        <span className="dim">
          {seconds(seen.from_s)} to {seconds(seen.to_s)} of {seconds(whole_s)}
        </span>
      </div>
      <p id="lanes-help" className={styles.help}>
        Arrow keys go from request to request and from session to session, + and − zoom, 0 shows the whole run, Shift
        with ← and → moves along. With the mouse: drag to move, Ctrl and the wheel to zoom, click to choose.
      </p>
      <Legend />
      <div ref={frame}>
        {runs.map((run, index) => (
          <section key={run.name + String(index)} aria-label={`Sessions of ${run.name}`}>
            <h3 className={styles.title}>
              {visible(run.name, 120)}
              <span className="dim">
                {counted(run.figures.sessions, "session")}, done after {seconds(run.figures.makespan_s)}
              </span>
            </h3>
            <Lanes
              name={run.name}
              sessions={sessions[index] ?? []}
              axis={axis}
              chosen={chosen}
              onChoose={choose}
              onZoom={zoom}
              onMove={move}
              onCursor={setCursor}
            />
          </section>
        ))}
        <h2>Working set over time against M</h2>
        <PlotKey />
        {runs.map((run, index) => (
          <section key={run.name + String(index)} aria-label={`Working set of ${run.name}`}>
            <h3 className={styles.title}>{visible(run.name, 120)}</h3>
            <WorkingSetPlot
              name={run.name}
              timeline={run.timeline}
              axis={axis}
              most={most}
              cursor_s={cursor_s}
              onCursor={setCursor}
            />
          </section>
        ))}
      </div>
      <h2>Requests of the chosen session</h2>
      {chosen === null ? <p className="dim">Choose a request in a lane: its session’s rows are shown here.</p> : null}
      {chosen === null || most_requests <= PAGE && offset === 0 ? null : (
        <Pager what="request" total={most_requests} offset={offset} limit={PAGE} onOffset={(next) => change({ rows: String(next) })} />
      )}
      {runs.map((run, index) => {
        const session = found[index];
        if (chosen === null) return null;
        if (session === undefined) {
          return <p key={run.name + String(index)}>{visible(`${run.name} has no session ${chosen.session}.`, 200)}</p>;
        }
        return (
          <RequestTable
            key={run.name + String(index)}
            name={visible(run.name, 120)}
            session={session}
            current={chosen.request}
            offset={offset}
          />
        );
      })}
    </>
  );
}

function readChosen(query: URLSearchParams): Chosen | null {
  const session = query.get("session");
  if (session === null) return null;
  const request = Number(query.get("request") ?? 0);
  return { session, request: Number.isInteger(request) && request >= 0 ? request : 0 };
}

function mostOf(runs: ShownRun[]): { tokens: number; requests: number } {
  let tokens = 0;
  let requests = 0;
  for (const { timeline } of runs) {
    tokens = Math.max(tokens, timeline.capacity_tokens);
    for (const value of timeline.working_set.wanted_tokens) tokens = Math.max(tokens, value);
    for (const list of [timeline.working_set.waiting, timeline.working_set.running]) {
      for (const value of list) requests = Math.max(requests, value);
    }
  }
  return { tokens, requests };
}
