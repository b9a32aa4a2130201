import styles from "./Evidence.module.css";

const SIGNS: Record<string, { sign: string; tone: "good" | "bad" | "warn" | "dim" }> = {
  pass: { sign: "✓", tone: "good" },
  passed: { sign: "✓", tone: "good" },
  accepted: { sign: "✓", tone: "good" },
  approved: { sign: "✓", tone: "good" },
  complete: { sign: "✓", tone: "good" },
  fail: { sign: "✗", tone: "bad" },
  failed: { sign: "✗", tone: "bad" },
  refused: { sign: "✗", tone: "bad" },
  changed: { sign: "✗", tone: "bad" },
  "needs-approval": { sign: "?", tone: "warn" },
  waiting: { sign: "?", tone: "warn" },
  incomplete: { sign: "!", tone: "warn" },
  "not shown": { sign: "–", tone: "dim" },
};

/** An outcome as a word, a sign and a colour. */
export function Outcome({ outcome }: { outcome: string }) {
  const { sign, tone } = SIGNS[outcome] ?? { sign: "·", tone: "dim" };
  return (
    <span className={`${styles.outcome} ${styles[tone]}`}>
      <span aria-hidden="true">{sign}</span> {outcome}
    </span>
  );
}
