"use client";

import { useEffect, useId, useRef, useState } from "react";
import { onThemeChange } from "@/components/Theme";
import { visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { Board, type Place } from "@/views/map/board";
import type { Shown } from "@/views/map/furniture";
import { listen, zoomBy } from "@/views/map/input";
import { Help } from "@/views/map/Legend";
import type { ChosenRequest } from "@/views/map/MapPage";
import type { Bands } from "@/views/map/paint";
import { currentTheme } from "@/views/map/palette";
import { Tip } from "@/views/map/tip";
import { fitted, showing } from "@/views/map/viewport";
import { placeLines, togetherLines } from "@/views/map/words";
import styles from "@/views/map/Map.module.css";

const SETTLED_MS = 400;
const STEP = 1.4;
const ZOOMS = [
  { of: "Zoom", less: "Zoom out", more: "Zoom in", x: STEP, y: STEP },
  { of: "Tokens", less: "Narrower tokens", more: "Wider tokens", x: STEP, y: 1 },
  { of: "Lines", less: "Lower lines", more: "Higher lines", x: 1, y: STEP },
] as const;

interface Props {
  shown: Shown;
  bands: Bands;
  chosen: ChosenRequest;
  onChoose: (index: number | null) => void;
  onFold: (group: string) => void;
}

/** The canvas with its buttons, its tooltip, and what it says to those who do not see it. */
export function MapBoard({ shown, bands, chosen, onChoose, onFold }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const held = useRef<Board | null>(null);
  const wishes = useRef({ onChoose, onFold });
  const [said, setSaid] = useState("");
  const help = useId();
  const { query, set } = useQuery();
  const at = query.get("at");
  useEffect(() => {
    wishes.current = { onChoose, onFold };
  });
  useEffect(() => {
    const element = canvas.current;
    const around = box.current;
    const tipBox = tip.current;
    if (element === null || around === null || tipBox === null) return;
    let settling: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      clearTimeout(settling);
      settling = setTimeout(() => {
        if (board.shown !== null) set({ at: board.said() }, "replace");
      }, SETTLED_MS);
    };
    const board = new Board(element, currentTheme(), { moved: tell });
    held.current = board;
    const tooltip = new Tip(tipBox);
    const resize = () => board.resize(around.clientWidth, around.clientHeight, window.devicePixelRatio);
    resize();
    const watching = new ResizeObserver(resize);
    watching.observe(around);
    const unheard = listen(board, {
      spot: (place, x, y) => tooltip.show(place === null ? null : wordsOf(board, place), x, y, around.clientWidth),
      told: (place) => setSaid(wordsOf(board, place).join("; ")),
      choose: (place) => wishes.current.onChoose(indexAt(board, place)),
      fold: (group) => {
        setSaid(`${board.shown?.folded.has(group) ? "Unfolded" : "Folded"}: ${visible(group)}`);
        wishes.current.onFold(group);
      },
    });
    const unthemed = onThemeChange(() => board.recolour(currentTheme()));
    return () => {
      clearTimeout(settling);
      watching.disconnect();
      unheard();
      unthemed();
      board.leave();
      held.current = null;
    };
  }, [set]);
  useEffect(() => {
    held.current?.show(shown, bands, new URLSearchParams(window.location.search).get("at"));
  }, [shown, bands]);
  useEffect(() => held.current?.follow(at), [at]);
  useEffect(() => {
    const board = held.current;
    if (board !== null) mark(board, chosen);
  }, [chosen, shown]);
  return (
    <>
      <ZoomButtons
        onZoom={(x, y) => held.current !== null && zoomBy(held.current, x, y)}
        onAll={() => held.current?.go(fitted(held.current.extent))}
      />
      <div ref={box} className={styles.board}>
        <canvas
          ref={canvas}
          className={styles.canvas}
          // Two directions and keys of its own: no role of a single control says that.
          // eslint-disable-next-line jsx-a11y/no-interactive-element-to-noninteractive-role
          role="application"
          tabIndex={0}
          aria-label="Break map: requests from top to bottom, tokens from left to right"
          aria-describedby={help}
        />
        <div ref={tip} className={styles.tip} aria-hidden="true" hidden />
      </div>
      <p className="hidden" aria-live="polite">
        {said}
      </p>
      <p id={help} className="hidden">
        Arrow keys move a cursor from cell to cell, N and P go to the next and the previous loss, Enter shows the
        request, plus and minus zoom. Show as table gives the same requests as a table.
      </p>
      <Help />
    </>
  );
}

function ZoomButtons({ onZoom, onAll }: { onZoom: (x: number, y: number) => void; onAll: () => void }) {
  return (
    <div className={styles.zooms}>
      {ZOOMS.map(({ of, less, more, x, y }) => (
        <span key={of} className={styles.buttons} role="group" aria-label={of}>
          <span className="dim" aria-hidden="true">
            {of}
          </span>
          <button type="button" aria-label={less} title={less} onClick={() => onZoom(1 / x, 1 / y)}>
            −
          </button>
          <button type="button" aria-label={more} title={more} onClick={() => onZoom(x, y)}>
            +
          </button>
        </span>
      ))}
      <button type="button" onClick={onAll}>
        Show all
      </button>
    </div>
  );
}

function wordsOf(board: Board, place: Place): string[] {
  const { shown } = board;
  if (shown === null) return [];
  const { columns, groups } = shown.arranged;
  if (place.end - place.first === 1) return placeLines(columns, place.first, place.token, shown.names);
  const group = groups.find(({ start, end }) => start <= place.first && place.first < end);
  const folded = group !== undefined && shown.folded.has(group.name);
  const name = folded ? (shown.names.get(group.name) ?? group.name) : null;
  return togetherLines(columns, place.first, place.end, place.token, name);
}

function indexAt(board: Board, place: Place | null): number | null {
  const columns = board.shown?.arranged.columns;
  if (columns === undefined || place === null) return null;
  return columns.index[place.first] ?? null;
}

/** Frame the chosen request and its baseline, and have the request in sight. */
function mark(board: Board, chosen: ChosenRequest): void {
  const columns = board.shown?.arranged.columns;
  if (columns === undefined) return;
  const rowOf = (index: number | null) => (index === null ? -1 : columns.index.indexOf(index));
  const row = rowOf(chosen.index);
  const before = board.chosen.row;
  board.choose({ row, baseline: rowOf(chosen.baseline) });
  if (row < 0 || row === before) return;
  const token = Math.max(0, columns.breakToken[row] ?? 0);
  board.go(showing(board.view, board.extent, token, board.lineOfRow(row)));
}
