"use client";

import { useId } from "react";
import { KINDS } from "./segments";
import { classOf, fillOf, HEIGHT, NAMES, Patterns } from "./Patterns";
import styles from "./Sessions.module.css";

/** What the bars of the lanes mean. */
export function Legend() {
  const id = useId();
  return (
    <ul className={styles.legend} aria-label="Legend of the lanes">
      {KINDS.map((kind, index) => (
        <li key={kind}>
          <svg width="26" height="14" aria-hidden="true">
            {index === 0 ? <Patterns id={id} /> : null}
            <rect
              x="0"
              y={7 - 6 * HEIGHT[kind]}
              width="26"
              height={12 * HEIGHT[kind]}
              fill={fillOf(kind, id)}
              className={classOf(kind)}
            />
          </svg>
          {NAMES[kind]}
        </li>
      ))}
    </ul>
  );
}
