"use client";

import { Link } from "@/components/Link";
import type { Item } from "@/components/Results";
import { visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { askFor, type Asked, KIND_NAMES, KINDS } from "./address";
import styles from "./Evidence.module.css";

/** Everything in the folder that is evidence, by kind. */
export function EvidenceList({ items, asked }: { items: Item[]; asked: Asked | null }) {
  const { to } = useQuery();
  return (
    <nav className={styles.list} aria-label="Evidence in the folder">
      {KINDS.map((kind) => {
        const ofKind = items.filter((item) => item.kind === kind);
        if (ofKind.length === 0) return null;
        return (
          <section key={kind} aria-label={KIND_NAMES[kind]}>
            <h2>
              {KIND_NAMES[kind]} ({ofKind.length})
            </h2>
            <ul>
              {ofKind.map((item) => (
                <li key={item.id}>
                  <Link
                    href={to(askFor({ kind, id: item.id }))}
                    aria-current={asked?.id === item.id ? "true" : undefined}
                  >
                    {visible(item.title, 80)}
                    {item.problem === null ? null : <span className={styles.bad}> cannot be shown</span>}
                    <span className={styles.path}>{visible(item.path, 120)}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}
