"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import { useApi } from "@/lib/api/use";
import { link, useQuery } from "@/lib/url";
import styles from "@/components/Shell.module.css";

const VIEWS: readonly { at: string; name: string }[] = [
  { at: "", name: "Call sites" },
  { at: "map", name: "Break map" },
  { at: "diff", name: "Prompt diff" },
  { at: "capacity", name: "Capacity" },
  { at: "sessions", name: "Sessions" },
  { at: "evidence", name: "Evidence" },
];

/** The frame of every view: what is served, and the way to the others. The chosen diagnosis goes along. */
export function Shell({ children }: { children: ReactNode }) {
  const server = useApi("/api/server", {});
  const here = usePathname().replaceAll("/", "");
  const { query } = useQuery();
  return (
    <>
      <a href="#content" className={styles.skip}>
        To the content
      </a>
      <header className={styles.header}>
        <strong>keepwarm</strong>
        {server.state === "ready" ? <span className="dim">{server.answer.name}</span> : null}
        <nav aria-label="Views">
          <ul>
            {VIEWS.map((view) => (
              <li key={view.at}>
                <a
                  href={link(view.at, { diagnosis: query.get("diagnosis") })}
                  aria-current={here === view.at ? "page" : undefined}
                >
                  {view.name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <main id="content" className={styles.main}>
        {children}
      </main>
    </>
  );
}
