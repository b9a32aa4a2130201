"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import { DiagnosisPicker } from "@/components/Diagnosis";
import { FatePatterns } from "@/components/Fates";
import "@/components/shared";
import { ThemeSwitch } from "@/components/Theme";
import { visible } from "@/lib/format";
import { FrameProvider, useFrame } from "@/lib/frame";
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
  return (
    <FrameProvider>
      <a href="#content" className={styles.skip}>
        To the content
      </a>
      <FatePatterns />
      <Header />
      <main id="content" tabIndex={-1} className={styles.main}>
        {children}
      </main>
    </FrameProvider>
  );
}

function Header() {
  const { server } = useFrame();
  const here = usePathname().replaceAll("/", "");
  const { query } = useQuery();
  return (
    <header className={styles.header}>
      <span className={styles.name}>
        <strong>keepwarm</strong>{" "}
        {server.state === "ready" ? (
          <span className="dim">
            {visible(server.answer.name, 60)} · {server.answer.revealed ? "values revealed" : "values masked"}
          </span>
        ) : null}
      </span>
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
      <div className={styles.tools}>
        <DiagnosisPicker />
        <ThemeSwitch />
      </div>
    </header>
  );
}
