"use client";

import { counted, visible } from "@/lib/format";
import type { Slot } from "@/views/diff/layout";
import type { LiftHandlers } from "@/views/diff/useLift";
import styles from "@/views/diff/Diff.module.css";

/** A slot in the text; a button where it can be moved. */
export function SlotChip({
  id,
  slot,
  name,
  moved,
  lifted,
  handlers,
}: {
  id: string;
  slot: Slot | undefined;
  name: string;
  moved: boolean;
  lifted: boolean;
  handlers: LiftHandlers;
}) {
  const inside = (
    <>
      <strong>{visible(name, 60)}</strong>
      {slot === undefined ? null : (
        <>
          {" "}
          <span className="hidden">, owner </span>
          {visible(slot.owner, 20)} · {counted(slot.distinct, "value")}
          {slot.finding === null ? null : ` · ${visible(slot.finding, 20)}`}
        </>
      )}
      {moved ? " · moved" : null}
    </>
  );
  const look = `${styles.chip} ${moved ? styles.movedChip : ""} ${lifted ? styles.liftedChip : ""}`;
  if (slot?.movable !== true) {
    return (
      <span className={look} title="It cannot be put elsewhere; where a finding proposes a change, accept that">
        {inside}
      </span>
    );
  }
  return (
    <button
      type="button"
      className={`${look} ${styles.movable}`}
      aria-pressed={lifted}
      aria-describedby="lift-hint"
      data-slot={id}
      onKeyDown={(event) => handlers.onKeyDown(event, id)}
      onKeyUp={(event) => {
        // A button would be clicked by it.
        if (event.key === " ") event.preventDefault();
      }}
      onBlur={() => handlers.onBlur(id)}
      onPointerDown={(event) => handlers.onPointerDown(event, id)}
      onPointerMove={(event) => handlers.onPointerMove(event, id)}
      onPointerUp={() => handlers.onPointerUp(id)}
      onPointerCancel={handlers.cancel}
    >
      {inside}
    </button>
  );
}
