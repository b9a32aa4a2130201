import type { ReactNode } from "react";
import styles from "./Evidence.module.css";

/** Recorded text as it is, in a box that scrolls within itself; it takes focus to be scrolled with keys. */
export function TextBox({ label, children }: { label: string; children: ReactNode }) {
  const scrolls = { role: "group", tabIndex: 0, "aria-label": label };
  return (
    <div className={`${styles.text} mono`} {...scrolls}>
      {children}
    </div>
  );
}
