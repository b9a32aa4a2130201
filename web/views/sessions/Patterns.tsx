import type { SegmentKind } from "./segments";
import styles from "./Sessions.module.css";

/** How high the bar of a kind is, of a lane's full height: what the server works on stands out. */
export const HEIGHT: Record<SegmentKind, number> = {
  waiting: 0.6,
  recomputed: 1,
  prefill: 1,
  decode: 1,
  tool: 0.3,
  human: 0.3,
  idle: 0.12,
};

export const NAMES: Record<SegmentKind, string> = {
  waiting: "waiting",
  recomputed: "prefill of evicted tokens, computed again",
  prefill: "prefill of other tokens",
  decode: "decode",
  tool: "tool",
  human: "human",
  idle: "idle",
};

/** The patterns that kinds are filled with, so that colour is not needed; once a drawing, by its own id. */
export function Patterns({ id }: { id: string }) {
  return (
    <defs>
      <pattern id={`${id}-recomputed`} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="4" height="4" className={styles.recomputed} />
        <rect width="1.6" height="4" className={styles.gap} />
      </pattern>
      <pattern id={`${id}-waiting`} width="4" height="4" patternUnits="userSpaceOnUse">
        <rect width="1.4" height="4" className={styles.waiting} />
      </pattern>
      <pattern id={`${id}-human`} width="6" height="6" patternUnits="userSpaceOnUse">
        <rect width="3.5" height="6" className={styles.human} />
      </pattern>
    </defs>
  );
}

/** What a bar of a kind is filled with; undefined: the colour of its class. */
export function fillOf(kind: SegmentKind, id: string): string | undefined {
  return kind === "recomputed" || kind === "waiting" || kind === "human" ? `url(#${id}-${kind})` : undefined;
}

/** The class that colours what has no pattern. */
export function classOf(kind: SegmentKind): string | undefined {
  return fillOf(kind, "") === undefined ? styles[kind] : undefined;
}
