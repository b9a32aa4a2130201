"use client";

import { useEffect, useState } from "react";
import styles from "@/components/Command.module.css";

const SAID_FOR_MS = 2_500;

/** A command to run, with a button that copies it. */
export function Command({ run }: { run: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const waiting = setTimeout(() => setSaid(""), SAID_FOR_MS);
    return () => clearTimeout(waiting);
  }, [said]);
  const copy = () => {
    navigator.clipboard.writeText(run).then(
      () => setSaid("copied"),
      () => setSaid("the browser does not let pages copy: select it"),
    );
  };
  return (
    <div className={styles.command}>
      <code>{run}</code>
      <span>
        <button type="button" onClick={copy} aria-label={`Copy: ${run}`}>
          Copy
        </button>{" "}
        <span role="status" className="dim">
          {said}
        </span>
      </span>
    </div>
  );
}
