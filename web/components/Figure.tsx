"use client";

import type { ReactNode } from "react";
import { Link } from "@/components/Link";
import styles from "@/components/Figure.module.css";

export type Origin = "simulated" | "measured" | "recorded";

const ORIGINS: Record<Origin, string> = {
  simulated: "from a model of the cache, not from a server",
  measured: "from a real server",
  recorded: "counted in the recorded requests",
};

/** Says where a figure is from; next to every rate and every time. */
export function OriginTag({ origin }: { origin: Origin }) {
  return (
    <span className={`${styles.origin} ${styles[origin]}`} title={ORIGINS[origin]}>
      {origin}
    </span>
  );
}

/** A large number with its unit; `href` leads to the rows behind it, `children` says more beneath. */
export function Figure({
  label,
  value,
  unit,
  origin,
  href,
  children,
}: {
  label: string;
  value: string;
  unit?: string;
  origin?: Origin;
  href?: string | null;
  children?: ReactNode;
}) {
  const number = (
    <>
      {value}
      {unit === undefined ? null : <span className={styles.unit}> {unit}</span>}
    </>
  );
  return (
    <div className={styles.figure}>
      <div className={styles.label}>
        {label} {origin === undefined ? null : <OriginTag origin={origin} />}
      </div>
      <div className={styles.value}>
        {href === undefined || href === null ? number : <Link href={href}>{number}</Link>}
      </div>
      {children === undefined ? null : <div className={styles.more}>{children}</div>}
    </div>
  );
}
