"use client";

import { Fragment, useRef, useState } from "react";
import { atMap } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { counted, visible } from "@/lib/format";
import { blocks, END, gapName, gaps, type Item, type Layout, ownPlace, placeOf, type Slot } from "@/views/diff/layout";
import { SlotChip } from "@/views/diff/SlotChip";
import { SlotList } from "@/views/diff/SlotList";
import { useLift } from "@/views/diff/useLift";
import styles from "@/views/diff/Diff.module.css";

interface Props {
  diagnosis: string;
  template: Schema<"Template">;
  layout: Layout;
  names: (slot: string) => string;
  onLay: (layout: Layout) => void;
}

/** The prompt as all requests of the call site share it, its slots in place; slots can be lifted and put elsewhere. */
export function TemplateText({ diagnosis, template, layout, names, onLay }: Props) {
  const { pieces } = template;
  const slots = new Map(template.slots.map((slot) => [slot.id, slot]));
  const text = useRef<HTMLDivElement>(null);
  const { lifted, said, handlers } = useLift({ text, pieces, layout, names, onLay });
  const possible = lifted === null ? [] : gaps(pieces, lifted.slot);
  const seen = new Set<number>();
  const gapBefore = (gap: number) => {
    if (seen.has(gap)) return null;
    seen.add(gap);
    return <Gap gap={gap} open={possible.includes(gap)} chosen={lifted?.gap === gap} />;
  };
  const laid = blocks(pieces, layout);
  if (laid.at(-1)?.path !== END) laid.push({ path: END, role: "", items: [] });
  return (
    <>
      <div ref={text} className={styles.text} {...REGION}>
        {laid.map((block, place) => (
          <section key={place} className={styles.block} aria-label={visible(`${block.role} ${block.path}`.trim(), 200)}>
            <p className={styles.where}>
              {block.role === "" ? null : <strong>{visible(block.role, 40)}</strong>} {visible(block.path, 200)}
            </p>
            <div className={styles.flow}>
              {block.items.map((item, at) => (
                <Fragment key={at}>
                  {gapBefore(item.gap)}
                  <Shown item={item} slots={slots} names={names} lifted={lifted?.slot ?? null} handlers={handlers} />
                </Fragment>
              ))}
              {block.path === END ? gapBefore(pieces.length) : null}
            </div>
          </section>
        ))}
      </div>
      <p role="status" className={styles.said}>
        {said}
      </p>
      {template.slots.some((slot) => slot.movable) ? (
        <p id="lift-hint" className="dim">
          Drag a slot to another place; or focus it, press Space to lift it, arrow keys to move it, Space to put it
          down, Escape to leave it where it was.
        </p>
      ) : null}
      <SlotList
        slots={template.slots}
        map={atMap(diagnosis, template.call_site)}
        names={names}
        placeOf={(slot) => placeOf(layout, pieces, slot)}
        placesOf={(slot) =>
          gaps(pieces, slot).map((gap) => ({
            value: String(gap),
            name: gap === ownPlace(pieces, slot) ? "as recorded" : visible(gapName(pieces, gap, names), 90),
          }))
        }
        onPlace={handlers.put}
      />
    </>
  );
}

// It scrolls, so that it must take focus: there may be no slot in it that does.
const REGION = { role: "region", "aria-label": "Text of the template", tabIndex: 0 };

function Gap({ gap, open, chosen }: { gap: number; open: boolean; chosen: boolean }) {
  const look = chosen ? styles.chosenGap : open ? styles.openGap : styles.gap;
  return <span data-gap={gap} aria-hidden="true" className={look} />;
}

function Shown({
  item,
  slots,
  names,
  lifted,
  handlers,
}: {
  item: Item;
  slots: Map<string, Slot>;
  names: (slot: string) => string;
  lifted: string | null;
  handlers: ReturnType<typeof useLift>["handlers"];
}) {
  if (item.kind === "text") return <Stable piece={item.piece} />;
  if (item.kind === "left") {
    return <span className={styles.left}>{visible(names(item.slot), 60)} was here</span>;
  }
  return (
    <SlotChip
      id={item.slot}
      slot={slots.get(item.slot)}
      name={names(item.slot)}
      moved={item.moved}
      lifted={lifted === item.slot}
      handlers={handlers}
    />
  );
}

const FOLD_FROM_CHARS = 700;
const KEPT_CHARS = 260;

/** Stable text; of a long one the two ends, and a button for the rest. */
function Stable({ piece }: { piece: Schema<"TextPiece"> }) {
  const [open, setOpen] = useState(false);
  const text = visible(piece.text);
  const left =
    piece.skipped_chars > 0 ? (
      <span className={styles.skipped}> ({counted(piece.skipped_chars, "character")} of it left out) </span>
    ) : null;
  if (text.length <= FOLD_FROM_CHARS) {
    return (
      <span className={styles.stable}>
        {text}
        {left}
      </span>
    );
  }
  const hidden = text.length - 2 * KEPT_CHARS;
  return (
    <span className={styles.stable}>
      {open ? text : `${text.slice(0, KEPT_CHARS)}…`}{" "}
      <button type="button" className={styles.fold} aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "fold" : `${counted(hidden, "character")} more`}
      </button>{" "}
      {open ? null : `…${text.slice(-KEPT_CHARS)}`}
      {left}
    </span>
  );
}
