"use client";

import { useMemo } from "react";
import type { Runs } from "@/views/map/columns";
import { SECTIONS } from "@/views/map/words";
import styles from "@/views/map/Map.module.css";

const MEANINGS: Record<(typeof SECTIONS)[number], string> = {
  tools: "the tools that the model may call",
  system: "the instructions in front",
  history: "messages before the newest turn",
  user: "the newest turn",
  unknown: "the trace has no text to tell",
};

/** What the colours of the bands mean, of those that occur. */
export function SectionLegend({ sections }: { sections: Runs }) {
  const there = useMemo(() => new Set(sections.kind), [sections]);
  return (
    <ul className={styles.sections} aria-label="Sections of a prompt">
      {SECTIONS.filter((_, kind) => there.has(kind)).map((name) => (
        <li key={name} title={MEANINGS[name]}>
          <span className={`${styles.band} ${styles[name]}`} aria-hidden="true" />
          <span>{name}</span>
          <span className="hidden">: {MEANINGS[name]}</span>
        </li>
      ))}
    </ul>
  );
}

/** How to read the map and move about it; shown on demand. */
export function Help() {
  return (
    <details className={styles.help}>
      <summary>How to read and move</summary>
      <div>
        <p>
          Each line is a request, from its first token at the left; colours say what happened to each token. Where a
          pixel holds tokens of several fates it shows the one with most tokens, but diverged or evicted as soon as
          they are 5% of it: a loss does not vanish by zooming out, and no colour is mixed. The same holds where one
          line stands for many requests; point at it to see how many met which fate. Gridlines stand between
          blocks, every second, fourth, eighth… where they would be too close. An upright mark with a broad head is a
          break. The band beneath a line, and the one under the ruler, name the sections of the prompt.
        </p>
        <dl className={styles.keys}>
          <dt>Drag, wheel, Shift + arrows</dt>
          <dd>move</dd>
          <dt>Ctrl + wheel, pinch, + and −</dt>
          <dd>zoom; 0 shows all of it; [ and ] make lines lower and higher</dd>
          <dt>Arrows, Page Up and Down, Home and End</dt>
          <dd>move the cursor from cell to cell, from page to page, to the ends of a line (with Ctrl: of the map)</dd>
          <dt>N and P</dt>
          <dd>the next and the previous request that lost tokens</dd>
          <dt>Click, Enter</dt>
          <dd>show the request; its baseline is marked B. Escape closes it</dd>
          <dt>F, or a click on its name</dt>
          <dd>fold a group into one line, and unfold it</dd>
        </dl>
      </div>
    </details>
  );
}
