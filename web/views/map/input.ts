// Pointer, wheel and keys, and what they do to the board.

import type { Board, Place } from "@/views/map/board";
import { gridTokens } from "@/views/map/grid";
import { overviewOf } from "@/views/map/marks";
import { fitted, panned, showing, zoomed } from "@/views/map/viewport";
import { FIRST_LOST } from "@/views/map/winner";

const CLICK_WITHIN = 4;
const ZOOM_STEP = 1.4;
const WHEEL_LINE = 18;

/** What the page does about it; `spot` hears of the place under the pointer, `told` of the keyboard's. */
export interface Wishes {
  spot: (place: Place | null, x: number, y: number) => void;
  told: (place: Place) => void;
  choose: (place: Place | null) => void;
  fold: (group: string) => void;
}

/** Listen at the board's canvas; gives the way to stop. */
export function listen(board: Board, wishes: Wishes): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const input = new Input(board, wishes);
  const { canvas } = board;
  canvas.addEventListener("pointerdown", (event) => input.down(event), { signal });
  canvas.addEventListener("pointermove", (event) => input.move(event), { signal });
  canvas.addEventListener("pointerup", (event) => input.up(event), { signal });
  canvas.addEventListener("pointercancel", (event) => input.forget(event), { signal });
  canvas.addEventListener("pointerleave", () => input.hover(null, 0, 0), { signal });
  canvas.addEventListener("wheel", (event) => input.wheel(event), { signal, passive: false });
  canvas.addEventListener("keydown", (event) => input.key(event), { signal });
  canvas.addEventListener("blur", () => input.blur(), { signal });
  return () => ended.abort();
}

/** Zoom about the middle of the window, or about the cursor where there is one. */
export function zoomBy(board: Board, x: number, y: number): void {
  const { view, frame, cursor, extent } = board;
  const px = cursor === null ? frame.width / 2 : cursor.token * view.perToken - view.left;
  const py = cursor === null ? frame.height / 2 : cursor.line * view.perLine - view.top;
  board.go(zoomed(view, extent, x, y, px, py));
}

interface Held {
  x: number;
  y: number;
  movedBy: number;
  overview: boolean;
}

class Input {
  #held = new Map<number, Held>();

  constructor(
    readonly board: Board,
    readonly wishes: Wishes,
  ) {}

  hover(place: Place | null, x: number, y: number): void {
    this.board.hover = place;
    this.wishes.spot(place, x, y);
    this.board.ask();
  }

  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { x, y } = this.#at(event);
    const overview = x >= this.board.frame.overviewLeft && y >= this.board.frame.top;
    this.#held.set(event.pointerId, { x, y, movedBy: 0, overview });
    this.board.canvas.setPointerCapture(event.pointerId);
    if (overview) this.#lookAt(x, y);
  }

  move(event: PointerEvent): void {
    const { x, y } = this.#at(event);
    const held = this.#held.get(event.pointerId);
    if (held === undefined) {
      this.hover(this.board.placeAt(x, y), event.offsetX, event.offsetY);
      return;
    }
    held.movedBy += Math.abs(x - held.x) + Math.abs(y - held.y);
    if (held.overview) this.#lookAt(x, y);
    else if (this.#held.size === 2) this.#pinch(event.pointerId, held, x, y);
    else if (held.movedBy >= CLICK_WITHIN * this.board.frame.unit) {
      this.hover(null, 0, 0);
      this.board.go(panned(this.board.view, this.board.extent, held.x - x, held.y - y));
    } else return;
    held.x = x;
    held.y = y;
  }

  up(event: PointerEvent): void {
    const held = this.#held.get(event.pointerId);
    this.#held.delete(event.pointerId);
    if (held === undefined || held.overview || held.movedBy >= CLICK_WITHIN * this.board.frame.unit) return;
    const { x, y } = this.#at(event);
    const { left, top } = this.board.frame;
    if (x < left && y >= top) this.#foldAt(this.board.place(y - top + this.board.view.top, 0));
    else this.wishes.choose(this.board.placeAt(x, y));
  }

  forget(event: PointerEvent): void {
    this.#held.delete(event.pointerId);
  }

  blur(): void {
    if (this.board.cursor === null) return;
    this.board.cursor = null;
    this.board.ask();
  }

  wheel(event: WheelEvent): void {
    const { board } = this;
    const scale = event.deltaMode === 1 ? WHEEL_LINE : 1;
    const unit = board.frame.unit;
    const dx = event.deltaX * scale * unit;
    const dy = event.deltaY * scale * unit;
    const before = board.view;
    if (event.ctrlKey || event.metaKey) {
      const { x, y } = this.#at(event);
      const by = Math.exp(-Math.max(-120, Math.min(120, event.deltaY * scale)) * 0.004);
      const { left, top } = board.frame;
      board.go(
        zoomed(before, board.extent, event.shiftKey ? 1 : by, event.altKey ? 1 : by, x - left, y - top),
      );
      event.preventDefault();
    } else {
      board.go(event.shiftKey ? panned(before, board.extent, dy + dx, 0) : panned(before, board.extent, dx, dy));
      // At the map's edge the page scrolls on.
      if (board.view !== before) event.preventDefault();
    }
    if (board.hover !== null) {
      const { x, y } = this.#at(event);
      this.hover(board.placeAt(x, y), event.offsetX, event.offsetY);
    }
  }

  key(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey) return;
    const { board } = this;
    const { frame, view, extent } = board;
    const act = event.shiftKey && event.key.startsWith("Arrow") ? PANS[event.key] : undefined;
    if (act !== undefined) {
      board.go(panned(view, extent, (act[0] * frame.width) / 8, (act[1] * frame.height) / 8));
    } else if (event.key === "+" || event.key === "=") zoomBy(board, ZOOM_STEP, ZOOM_STEP);
    else if (event.key === "-") zoomBy(board, 1 / ZOOM_STEP, 1 / ZOOM_STEP);
    else if (event.key === "0") board.go(fitted(extent));
    else if (event.key === "]") zoomBy(board, 1, ZOOM_STEP);
    else if (event.key === "[") zoomBy(board, 1, 1 / ZOOM_STEP);
    else if (event.key === "Escape") this.wishes.choose(null);
    else if (!this.#cursorKey(event)) return;
    event.preventDefault();
  }

  /** Keys that need a cursor; the first of them puts it where the window begins. */
  #cursorKey(event: KeyboardEvent): boolean {
    const { board } = this;
    const { view, shown } = board;
    const at = board.cursor ?? board.hover ?? board.place(view.top, Math.floor(view.left / view.perToken));
    if (shown === null || at === null) return false;
    const step = gridTokens(shown.arranged.columns.blockSize, view.perToken, 22 * board.frame.unit);
    const page = Math.max(1, Math.floor(board.frame.height / view.perLine) - 1);
    const tall = Math.max(1, Math.ceil(1 / view.perLine));
    const length = shown.arranged.columns.promptTokens[at.first] ?? 1;
    const last = shown.lines.count - 1;
    if (event.key === "Enter") this.wishes.choose(at);
    else if (event.key === "f" || event.key === "F") this.#foldAt(at);
    else if (event.key === "ArrowLeft") this.#put(at.line, (Math.floor(at.token / step) - 1) * step);
    else if (event.key === "ArrowRight") this.#put(at.line, (Math.floor(at.token / step) + 1) * step);
    else if (event.key === "ArrowUp") this.#put(at.line - tall, at.token);
    else if (event.key === "ArrowDown") this.#put(at.line + tall, at.token);
    else if (event.key === "PageUp") this.#put(at.line - page, at.token);
    else if (event.key === "PageDown") this.#put(at.line + page, at.token);
    else if (event.key === "Home") this.#put(event.ctrlKey ? 0 : at.line, event.ctrlKey ? at.token : 0);
    else if (event.key === "End") this.#put(event.ctrlKey ? last : at.line, event.ctrlKey ? at.token : length - 1);
    else if (event.key === "n") this.#toLoss(at, 1);
    else if (event.key === "p") this.#toLoss(at, -1);
    else return false;
    return true;
  }

  /** The next line, downwards or upwards, that lost tokens, at the first of them. */
  #toLoss(at: Place, by: number): void {
    const { shown } = this.board;
    if (shown === null) return;
    const { fates } = shown.arranged.columns;
    for (let line = at.line + by; line >= 0 && line < shown.lines.count; line += by) {
      const row = shown.lines.start[line] ?? 0;
      for (let run = fates.start[row] ?? 0; run < (fates.start[row + 1] ?? 0); run += 1) {
        if ((fates.kind[run] ?? 0) < FIRST_LOST) continue;
        this.#put(line, run === fates.start[row] ? 0 : (fates.end[run - 1] ?? 0));
        return;
      }
    }
  }

  #put(line: number, token: number): void {
    const { board } = this;
    const { shown, extent } = board;
    if (shown === null) return;
    const within = Math.max(0, Math.min(shown.lines.count - 1, line));
    const there = Math.max(0, Math.min(extent.tokens - 1, token));
    const first = shown.lines.start[within] ?? 0;
    const place = { line: within, first, end: shown.lines.start[within + 1] ?? first + 1, token: there };
    board.cursor = place;
    board.hover = null;
    this.wishes.spot(null, 0, 0);
    board.go(showing(board.view, extent, there, within));
    board.ask();
    this.wishes.told(place);
  }

  #foldAt(place: Place | null): void {
    const groups = this.board.shown?.arranged.groups ?? [];
    const group = place === null ? undefined : groups.find(({ start, end }) => start <= place.first && place.first < end);
    if (group !== undefined) this.wishes.fold(group.name);
  }

  #pinch(id: number, held: Held, x: number, y: number): void {
    const other = [...this.#held].find(([pointer]) => pointer !== id)?.[1];
    if (other === undefined) return;
    const before = Math.hypot(held.x - other.x, held.y - other.y);
    const after = Math.hypot(x - other.x, y - other.y);
    // A finger that only held still while the other moved has not clicked.
    other.movedBy += Math.abs(after - before);
    if (before < 1 || after < 1) return;
    const { board } = this;
    const { left, top } = board.frame;
    const by = after / before;
    board.go(zoomed(board.view, board.extent, by, by, (x + other.x) / 2 - left, (y + other.y) / 2 - top));
  }

  /** Centre the window at a place of the overview. */
  #lookAt(x: number, y: number): void {
    const { board } = this;
    const { frame, view, extent } = board;
    const along = (x - frame.overviewLeft) / frame.overviewWidth;
    const down = (y - frame.top) / overviewOf(extent).height;
    board.go({
      ...view,
      left: along * extent.tokens * view.perToken - frame.width / 2,
      top: down * extent.lines * view.perLine - frame.height / 2,
    });
  }

  /** Device pixels of the canvas. */
  #at(event: MouseEvent): { x: number; y: number } {
    const ratio = this.board.canvas.width / Math.max(1, this.board.canvas.clientWidth);
    return { x: event.offsetX * ratio, y: event.offsetY * ratio };
  }
}

const PANS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
