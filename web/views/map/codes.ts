// Which kind each pixel column of a row, or of several rows together, shows.

import { type Runs, runAt } from "@/views/map/columns";
import { KINDS, NOTHING, winner } from "@/views/map/winner";

/** Pixel columns from `from`, `count` of them; column c of the map holds tokens from c / perToken on. */
export interface Span {
  perToken: number;
  from: number;
  count: number;
}

/** Holds what is needed on the way, so that a call allocates nothing; for spans of at most `most` columns. */
export class Codes {
  readonly #shares = new Float64Array(KINDS);
  readonly #whole: Int32Array;
  readonly #part: Float64Array;
  readonly #touched: Uint8Array;

  constructor(most: number) {
    this.#whole = new Int32Array(KINDS * (most + 2));
    this.#part = new Float64Array(KINDS * (most + 2));
    this.#touched = new Uint8Array(most + 2);
  }

  /** Write the winning kind of each column for the rows from `first` to `end` into `out`, NOTHING where they have no token. */
  write(runs: Runs, first: number, end: number, span: Span, losses: boolean, out: Uint8Array): void {
    if (end - first === 1) this.#one(runs, first, span, losses, out);
    else this.#several(runs, first, end, span, losses, out);
  }

  #one(runs: Runs, row: number, span: Span, losses: boolean, out: Uint8Array): void {
    const { perToken, from, count } = span;
    const shares = this.#shares;
    const last = runs.start[row + 1] as number;
    let run = runAt(runs, row, Math.floor(from / perToken) - 1);
    let a = Math.max(0, (run === runs.start[row] ? 0 : (runs.end[run - 1] as number)) * perToken - from);
    let open = -1;
    shares.fill(0);
    for (; run < last && a < count; run += 1) {
      const kind = runs.kind[run] as number;
      const b = Math.min(count, (runs.end[run] as number) * perToken - from);
      if (b <= a) continue;
      const inA = Math.floor(a);
      const inB = Math.floor(b);
      if (inA !== open) {
        if (open >= 0) out[open] = winner(shares, losses);
        else out.fill(NOTHING, 0, inA);
        shares.fill(0);
        open = inA;
      }
      if (inA === inB) {
        shares[kind] = (shares[kind] as number) + b - a;
      } else {
        shares[kind] = (shares[kind] as number) + inA + 1 - a;
        out[open] = winner(shares, losses);
        out.fill(kind, inA + 1, inB);
        shares.fill(0);
        shares[kind] = b - inB;
        open = inB;
      }
      a = b;
    }
    if (open < 0) out.fill(NOTHING, 0, count);
    else {
      if (open < count) out[open] = winner(shares, losses);
      out.fill(NOTHING, Math.min(count, open + 1), count);
    }
  }

  #several(runs: Runs, first: number, end: number, span: Span, losses: boolean, out: Uint8Array): void {
    const { count } = span;
    const touched = this.#touched;
    for (let row = first; row < end; row += 1) this.#tally(runs, row, span);
    touched[0] = 1;
    const stride = touched.length;
    const shares = this.#shares;
    const counts = COUNTS.fill(0);
    let code = NOTHING;
    for (let column = 0; column < count; column += 1) {
      if (touched[column] !== 0) {
        for (let kind = 0; kind < KINDS; kind += 1) {
          const at = kind * stride + column;
          const whole = (counts[kind] as number) + (this.#whole[at] as number);
          counts[kind] = whole;
          shares[kind] = whole + (this.#part[at] as number);
        }
        code = winner(shares, losses);
      }
      out[column] = code;
    }
    this.#clear(count);
  }

  /** Add what each column has of `row`: whole columns as differences, the ends of stretches as shares. */
  #tally(runs: Runs, row: number, span: Span): void {
    const { perToken, from, count } = span;
    const touched = this.#touched;
    const stride = touched.length;
    const last = runs.start[row + 1] as number;
    let run = runAt(runs, row, Math.floor(from / perToken) - 1);
    let a = Math.max(0, (run === runs.start[row] ? 0 : (runs.end[run - 1] as number)) * perToken - from);
    for (; run < last && a < count; run += 1) {
      const b = Math.min(count, (runs.end[run] as number) * perToken - from);
      if (b <= a) continue;
      const at = (runs.kind[run] as number) * stride;
      const inA = Math.floor(a);
      const inB = Math.floor(b);
      touched[inA] = touched[inA + 1] = touched[inB] = touched[inB + 1] = 1;
      if (inA === inB) {
        this.#part[at + inA] = (this.#part[at + inA] as number) + b - a;
      } else {
        this.#part[at + inA] = (this.#part[at + inA] as number) + inA + 1 - a;
        this.#whole[at + inA + 1] = (this.#whole[at + inA + 1] as number) + 1;
        this.#whole[at + inB] = (this.#whole[at + inB] as number) - 1;
        this.#part[at + inB] = (this.#part[at + inB] as number) + b - inB;
      }
      a = b;
    }
  }

  #clear(count: number): void {
    const touched = this.#touched;
    for (let column = 0; column < count + 2; column += 1) {
      if (touched[column] === 0) continue;
      touched[column] = 0;
      for (let at = column; at < this.#whole.length; at += touched.length) {
        this.#whole[at] = 0;
        this.#part[at] = 0;
      }
    }
  }
}

const COUNTS = new Int32Array(KINDS);
