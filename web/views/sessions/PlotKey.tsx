import styles from "./Sessions.module.css";

const LINES = [
  { name: "wanted by live sessions", className: styles.wanted },
  { name: "of it cached", className: styles.cached },
  { name: "M, what the cache holds", className: styles.limit },
  { name: "requests waiting", className: styles.waitingLine },
  { name: "requests running", className: styles.running },
] as const;

/** What the lines of the working set mean. */
export function PlotKey() {
  return (
    <ul className={styles.legend} aria-label="Legend of the working set">
      {LINES.map(({ name, className }) => (
        <li key={name}>
          <svg width="26" height="10" aria-hidden="true">
            <path d={className === styles.cached ? "M0 3H26V9H0z" : "M0 5H26"} className={className} />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}
