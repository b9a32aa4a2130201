"use client";

import CAUSES from "@/lib/causes.json";
import { visible } from "@/lib/format";
import styles from "@/components/Chips.module.css";

const OWNERS: Record<string, string> = {
  app: "the application's source can change it",
  model: "the model wrote it",
  template: "the chat template or the tokenizer decides it",
  engine: "the server's configuration or routing decides it",
};

/** A cause; leads to what it means. */
export function CauseChip({ cause }: { cause: string }) {
  const known = CAUSES.find((entry) => entry.code === cause);
  if (known === undefined) return <span className={styles.cause}>{visible(cause)}</span>;
  return (
    <a href={`/causes/#${known.code}`} className={styles.cause} title={`${known.summary}; what it means`}>
      {known.code}
    </a>
  );
}

/** Who can change it. */
export function OwnerChip({ owner }: { owner: string }) {
  return (
    <span className={styles.owner} title={OWNERS[owner]}>
      {visible(owner)}
    </span>
  );
}

/** How sure the diagnosis is, as a share and a word. */
export function Confidence({ value }: { value: number }) {
  const word = value >= 0.9 ? "sure" : value >= 0.7 ? "likely" : "possible";
  return (
    <span className={styles.confidence}>
      {word} <span className="dim">{Math.round(100 * value)}%</span>
    </span>
  );
}
