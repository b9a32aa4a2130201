import { Link } from "@/components/Link";
import { percent } from "@/lib/format";
import styles from "@/views/callsites/CallSites.module.css";

/** A hit rate as it is and as it would be, as text and as a bar; each leads to what is behind it. */
export function RateBar({ now, fixed, rows, findings }: { now: number; fixed: number; rows: string; findings: string }) {
  const gain = Math.max(0, fixed - now);
  return (
    <span className={styles.rateBar}>
      <span className={styles.rateText}>
        <Link href={rows}>{percent(now)}</Link> →{" "}
        <Link href={findings}>
          <strong>{percent(fixed)}</strong>
        </Link>
      </span>
      <svg className={styles.rateTrack} aria-hidden="true">
        <rect width={`${100 * now}%`} height="100%" className={styles.rateNow} />
        <rect x={`${100 * now}%`} width={`${100 * gain}%`} height="100%" className={styles.rateFixed} />
      </svg>
    </span>
  );
}
