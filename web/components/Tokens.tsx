"use client";

import type { Schema } from "@/lib/api/client";
import { visible } from "@/lib/format";
import styles from "@/components/Tokens.module.css";

/** White space that would not be seen in a box of its own is shown by signs. */
function shown(text: string): string {
  return visible(text, 400).replaceAll("\n", "⏎").replaceAll(" ", "·");
}

/** Tokens as boxes, in order; what a mask covers is one box, told apart by its frame. */
export function Tokens({ pieces, label }: { pieces: readonly Schema<"Piece">[]; label: string }) {
  if (pieces.length === 0) return <p className="dim">{label}: none.</p>;
  return (
    <figure className={styles.figure}>
      <figcaption className="dim">{label}</figcaption>
      <p className="hidden">{visible(pieces.map((piece) => piece.text).join(""), 2_000)}</p>
      <div className={styles.tokens} aria-hidden="true">
        {pieces.map((piece, place) => (
          <span key={place} className={piece.masked ? styles.masked : styles.token}>
            {piece.masked ? visible(piece.text, 400) : shown(piece.text)}
          </span>
        ))}
      </div>
    </figure>
  );
}
