"use client";

import { type KeyboardEvent, type PointerEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { useWidth } from "@/components/plot/useWidth";
import { visible } from "@/lib/format";
import { describe } from "./describe";
import { classOf, fillOf, HEIGHT, Patterns } from "./Patterns";
import { barPath, barsOf, KINDS, requestsIn, segmentAt, type Segment, segmentsOf, type SessionTimeline } from "./segments";
import type { Seen } from "./series";
import type { Axis } from "./axis";
import styles from "./Sessions.module.css";

const LANE_PX = 17;
const BAR_PX = 12;
const SHOWN_LANES = 22;
/** So much of a name fits beside the lanes; the readout has all of it. */
const NAME_CHARS = 14;
/** So far may the pointer move between press and release of a click. */
const STILL_PX = 4;

export interface Chosen {
  session: string;
  request: number;
}

/** One lane a session; the pointer and the keys choose a request, zoom and move along. */
export function Lanes({
  name,
  sessions,
  axis,
  chosen,
  onChoose,
  onZoom,
  onMove,
  onCursor,
}: {
  name: string;
  sessions: SessionTimeline[];
  axis: Axis;
  chosen: Chosen | null;
  onChoose: (chosen: Chosen, segment: Seen) => void;
  onZoom: (by: number, around_s: number) => void;
  onMove: (by_s: number) => void;
  onCursor: (time_s: number | null) => void;
}) {
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, axis.width);
  const [top, setTop] = useState(0);
  const [hovered, setHovered] = useState<Chosen | null>(null);
  const dragged = useRef<{ x: number; moved: boolean } | null>(null);
  const lanes = useMemo(() => sessions.map((session) => segmentsOf(session)), [sessions]);
  const height = sessions.length * LANE_PX;
  const first = Math.max(0, Math.floor(top / LANE_PX) - 2);
  const last = Math.min(sessions.length, first + SHOWN_LANES + 5);

  const paths = useMemo(() => {
    const parts = new Map(KINDS.map((kind) => [kind, [] as string[]]));
    for (let lane = first; lane < last; lane += 1) {
      for (const [kind, bars] of barsOf(lanes[lane] ?? [], axis.seen, axis.x)) {
        parts.get(kind)?.push(barPath(bars, (lane + 0.5) * LANE_PX, BAR_PX * HEIGHT[kind]));
      }
    }
    return [...parts].map(([kind, drawn]) => ({ kind, path: drawn.join("") }));
  }, [lanes, first, last, axis]);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const turned = (event: WheelEvent) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const at = event.clientX - element.getBoundingClientRect().left;
        onZoom(Math.exp(-event.deltaY * 0.004), axis.time(at));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        onMove(((event.deltaX || event.deltaY) / axis.width) * (axis.seen.to_s - axis.seen.from_s));
      }
    };
    // React listens passively, and a passive listener cannot keep the page from zooming.
    element.addEventListener("wheel", turned, { passive: false });
    return () => element.removeEventListener("wheel", turned);
  }, [axis, onZoom, onMove]);

  const laneOfChosen = sessions.findIndex((session) => session.id === chosen?.session);
  useEffect(() => {
    const element = frame.current;
    if (element === null || laneOfChosen < 0) return;
    const above = laneOfChosen * LANE_PX;
    if (above < element.scrollTop) element.scrollTop = above;
    else if (above + LANE_PX > element.scrollTop + element.clientHeight) {
      element.scrollTop = above + LANE_PX - element.clientHeight;
    }
  }, [laneOfChosen]);

  const under = (event: PointerEvent<HTMLDivElement>): { at: Chosen; segment: Segment } | null => {
    const box = event.currentTarget.getBoundingClientRect();
    const lane = Math.floor((event.clientY - box.top + event.currentTarget.scrollTop) / LANE_PX);
    const session = sessions[lane];
    const segments = lanes[lane];
    const time = axis.time(event.clientX - box.left);
    onCursor(time >= axis.seen.from_s && time <= axis.seen.to_s ? time : null);
    if (session === undefined || segments === undefined) return null;
    const segment = segmentAt(segments, time);
    return segment === null ? null : { at: { session: session.id, request: segment.request }, segment };
  };
  const choose = (lane: number, request: number) => {
    const session = sessions[lane];
    if (session === undefined) return;
    const kept = Math.min(Math.max(request, 0), requestsIn(session) - 1);
    const from_s = session.arrival_s[kept] ?? 0;
    onChoose({ session: session.id, request: kept }, { from_s, to_s: session.end_s[kept] ?? from_s });
  };
  const pressed = (event: KeyboardEvent<HTMLDivElement>) => {
    const lane = Math.max(laneOfChosen, 0);
    const request = laneOfChosen < 0 ? -1 : (chosen?.request ?? -1);
    const start_s = sessions[laneOfChosen]?.arrival_s[request];
    const middle = start_s ?? (axis.seen.from_s + axis.seen.to_s) / 2;
    const span = axis.seen.to_s - axis.seen.from_s;
    const actions: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? onMove(0.1 * span) : choose(lane, request + 1)),
      ArrowLeft: () => (event.shiftKey ? onMove(-0.1 * span) : choose(lane, request - 1)),
      ArrowDown: () => choose(Math.min(laneOfChosen + 1, sessions.length - 1), Math.max(request, 0)),
      ArrowUp: () => choose(Math.max(lane - 1, 0), Math.max(request, 0)),
      Home: () => choose(lane, 0),
      End: () => choose(lane, Number.MAX_SAFE_INTEGER),
      "+": () => onZoom(2, middle),
      "=": () => onZoom(2, middle),
      "-": () => onZoom(0.5, middle),
      "0": () => onZoom(0, middle),
    };
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  const pointed = hovered ?? chosen;
  const session = sessions.find((candidate) => candidate.id === pointed?.session);
  const said =
    pointed === null || session === undefined
      ? "No request chosen: point at one, or use the arrow keys."
      : `${visible(session.id, 60)}, request ${pointed.request + 1} of ${requestsIn(session)}: ${visible(describe(session, pointed.request), 400)}`;
  const marked = seenPart(sessions[laneOfChosen], chosen?.request ?? 0, axis.seen);
  return (
    <>
      <div
        ref={frame}
        className={styles.lanes}
        role="slider"
        tabIndex={0}
        aria-label={`Sessions of ${name}`}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={sessions.length}
        aria-valuenow={laneOfChosen + 1}
        aria-valuetext={said}
        aria-describedby="lanes-help"
        onKeyDown={pressed}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onPointerDown={(event) => {
          dragged.current = { x: event.clientX, moved: false };
        }}
        onPointerMove={(event) => {
          const drag = dragged.current;
          if (drag !== null && (drag.moved || Math.abs(event.clientX - drag.x) > STILL_PX)) {
            if (!drag.moved) event.currentTarget.setPointerCapture(event.pointerId);
            onMove(axis.time(drag.x) - axis.time(event.clientX));
            dragged.current = { x: event.clientX, moved: true };
          } else setHovered(under(event)?.at ?? null);
        }}
        onPointerUp={(event) => {
          const found = dragged.current?.moved === false ? under(event) : null;
          dragged.current = null;
          if (found !== null) onChoose(found.at, found.segment);
        }}
        onPointerLeave={() => {
          dragged.current = null;
          setHovered(null);
          onCursor(null);
        }}
      >
        <svg width={width} height={height} aria-hidden="true" className={styles.drawing}>
          <Patterns id={id} />
          {laneOfChosen < 0 ? null : (
            <rect className={styles.lane} x="0" y={laneOfChosen * LANE_PX} width={width} height={LANE_PX} />
          )}
          {axis.ticks.map((tick) => (
            <line key={tick} className={styles.grid} x1={axis.x(tick)} x2={axis.x(tick)} y1="0" y2={height} />
          ))}
          {paths.map(({ kind, path }) => (
            <path key={kind} d={path} fill={fillOf(kind, id)} className={classOf(kind)} />
          ))}
          {sessions.slice(first, last).map((shown, index) => (
            <text key={shown.id} className={styles.name} x="0" y={(first + index + 0.5) * LANE_PX + 4}>
              {visible(shown.id, 60).slice(0, NAME_CHARS)}
            </text>
          ))}
          {marked === null ? null : (
            <rect
              className={styles.mark}
              x={axis.x(marked.from_s)}
              y={laneOfChosen * LANE_PX + 0.75}
              width={Math.max(3, axis.x(marked.to_s) - axis.x(marked.from_s))}
              height={LANE_PX - 1.5}
            />
          )}
        </svg>
      </div>
      <p className={styles.readout} role="status">
        {said}
      </p>
    </>
  );
}

/** The part of a request that is seen, from its arrival to its end; null: none of it. */
function seenPart(session: SessionTimeline | undefined, request: number, seen: Seen): Seen | null {
  const arrival = session?.arrival_s[request];
  const end = session?.end_s[request];
  if (arrival === undefined || end === undefined || end < seen.from_s || arrival > seen.to_s) return null;
  return { from_s: Math.max(arrival, seen.from_s), to_s: Math.min(end, seen.to_s) };
}
