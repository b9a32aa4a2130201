import { percent } from "@/lib/format";
import styles from "@/views/callsites/CallSites.module.css";

/** A hit rate as it is and as it would be, as text and as a bar. */
export function RateBar({ now, fixed }: { now: number; fixed: number }) {
  const gain = Math.max(0, fixed - now);
  return (
    <span className={styles.rateBar}>
      <span className={styles.rateText}>
        {percent(now)} → <strong>{percent(fixed)}</strong>
      </span>
      <svg className={styles.rateTrack} aria-hidden="true">
        <rect width={`${100 * now}%`} height="100%" className={styles.rateNow} />
        <rect x={`${100 * now}%`} width={`${100 * gain}%`} height="100%" className={styles.rateFixed} />
      </svg>
    </span>
  );
}
