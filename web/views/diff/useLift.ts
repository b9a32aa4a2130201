"use client";

import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useRef, useState } from "react";
import { gapName, gaps, type Layout, nextGap, type Piece, placeOf, withMove } from "@/views/diff/layout";
import { nearest } from "@/views/diff/nearest";

const DRAG_FROM_PX = 5;
const EDGE_PX = 24;
const SCROLL_PX = 14;
const STEPS: Record<string, 1 | -1> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export interface Lifted {
  slot: string;
  gap: number;
}

export interface LiftHandlers {
  onKeyDown: (event: KeyboardEvent, slot: string) => void;
  onBlur: (slot: string) => void;
  onPointerDown: (event: PointerEvent<HTMLElement>, slot: string) => void;
  onPointerMove: (event: PointerEvent<HTMLElement>, slot: string) => void;
  onPointerUp: (slot: string) => void;
  cancel: () => void;
  put: (slot: string, gap: number) => void;
}

/** Lifting a slot and putting it elsewhere, by pointer and by keys; what happens is said in `said`. */
export function useLift({
  text,
  pieces,
  layout,
  names,
  onLay,
}: {
  text: RefObject<HTMLElement | null>;
  pieces: readonly Piece[];
  layout: Layout;
  names: (slot: string) => string;
  onLay: (layout: Layout) => void;
}): { lifted: Lifted | null; said: string; handlers: LiftHandlers } {
  const [lifted, setLifted] = useState<Lifted | null>(null);
  const [said, setSaid] = useState("");
  const pressed = useRef<{ slot: string; x: number; y: number } | null>(null);
  const dropped = useRef<string | null>(null);

  // The chip that was put down is another element now: focus goes with it.
  useEffect(() => {
    const slot = dropped.current;
    if (slot === null) return;
    dropped.current = null;
    for (const chip of text.current?.querySelectorAll<HTMLElement>("[data-slot]") ?? []) {
      if (chip.dataset.slot === slot) chip.focus();
    }
  }, [layout, text]);

  const lift = (slot: string, gap: number, news: string) => {
    setLifted({ slot, gap });
    setSaid(`${names(slot)} ${news} ${gapName(pieces, gap, names)}.`);
  };
  const cancel = () => {
    pressed.current = null;
    if (lifted !== null) setSaid(`${names(lifted.slot)} stays where it was.`);
    setLifted(null);
  };
  const put = (slot: string, gap: number) => {
    setLifted(null);
    setSaid(`${names(slot)} is put ${gapName(pieces, gap, names)}.`);
    onLay(withMove(layout, pieces, slot, gap));
  };

  const onKeyDown = (event: KeyboardEvent, slot: string) => {
    const step = STEPS[event.key];
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      if (lifted === null) lift(slot, placeOf(layout, pieces, slot), "is lifted;");
      else {
        dropped.current = slot;
        put(lifted.slot, lifted.gap);
      }
    } else if (lifted !== null && event.key === "Escape") {
      event.preventDefault();
      cancel();
    } else if (lifted !== null && step !== undefined) {
      event.preventDefault();
      lift(slot, nextGap(gaps(pieces, slot), lifted.gap, step), "would be put");
    }
  };
  const onPointerDown = (event: PointerEvent<HTMLElement>, slot: string) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pressed.current = { slot, x: event.clientX, y: event.clientY };
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>, slot: string) => {
    const from = pressed.current;
    if (from?.slot !== slot || text.current === null) return;
    if (lifted === null && Math.hypot(event.clientX - from.x, event.clientY - from.y) < DRAG_FROM_PX) return;
    const { top, bottom } = text.current.getBoundingClientRect();
    text.current.scrollBy(0, SCROLL_PX * beyond(event.clientY, top, bottom));
    window.scrollBy(0, SCROLL_PX * beyond(event.clientY, 0, window.innerHeight));
    const gap = nearest(placesIn(text.current, gaps(pieces, slot)), event.clientX, event.clientY);
    if (gap !== null && (lifted?.gap !== gap || lifted.slot !== slot)) lift(slot, gap, "would be put");
  };
  const onPointerUp = (slot: string) => {
    const dragged = pressed.current?.slot === slot && lifted?.slot === slot;
    pressed.current = null;
    if (!dragged || lifted === null) return;
    dropped.current = slot;
    put(slot, lifted.gap);
  };
  const onBlur = (slot: string) => {
    if (lifted?.slot === slot && dropped.current === null && pressed.current === null) cancel();
  };
  return {
    lifted,
    said,
    handlers: { onKeyDown, onBlur, onPointerDown, onPointerMove, onPointerUp, cancel, put },
  };
}

/** At which edge a pointer is: -1 the upper, 1 the lower, 0 none. */
function beyond(y: number, top: number, bottom: number): -1 | 0 | 1 {
  return y < top + EDGE_PX ? -1 : y > bottom - EDGE_PX ? 1 : 0;
}

function placesIn(text: HTMLElement, possible: readonly number[]) {
  return [...text.querySelectorAll<HTMLElement>("[data-gap]")].flatMap((element) => {
    const gap = Number(element.dataset.gap);
    const { left, top, height } = element.getBoundingClientRect();
    return possible.includes(gap) ? [{ gap, x: left, y: top + height / 2 }] : [];
  });
}
