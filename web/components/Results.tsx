"use client";

import type { ReactNode } from "react";
import { Select } from "@/components/Controls";
import { Empty, Failure, Loading } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { type Loaded, useApi } from "@/lib/api/use";
import { visible } from "@/lib/format";
import { useFrame } from "@/lib/frame";
import { useQuery } from "@/lib/url";
import styles from "@/components/Results.module.css";

export type Item = Schema<"Item">;
export type Kind = Item["kind"];

/** The results of one kind in the served folder, newest first. */
export function useItems(kind: Kind): Loaded<Schema<"Items">> {
  const { ready } = useQuery();
  return useApi("/api/results", ready ? { query: { kind, limit: 1000 } } : null);
}

/** The folder as it is to be named in a command. */
export function useFolder(): string {
  const { server } = useFrame();
  return server.state === "ready" ? visible(server.answer.name, 200) : "DIR";
}

/** The one of the address, else the newest that can be shown. */
export function chosenOf(items: Item[], asked: string | null): Item | null {
  return items.find((item) => item.id === asked) ?? items.find((item) => item.problem === null) ?? items[0] ?? null;
}

/** How a result is called where there are several. */
export function nameOf(item: Item): string {
  return visible(`${item.title} (${item.path})${item.problem === null ? "" : ", cannot be shown"}`, 140);
}

/** Picks a result; nothing where there is but one. */
export function ResultPicker({
  label,
  items,
  chosen,
  onChoose,
}: {
  label: string;
  items: Item[];
  chosen: string;
  onChoose: (id: string) => void;
}) {
  if (items.length < 2) return null;
  const options = items.map((item) => ({ value: item.id, name: nameOf(item) }));
  return (
    <div className={styles.picker}>
      <Select label={label} options={options} value={chosen} onChange={onChoose} />
    </div>
  );
}

/** The results that a view needs, or why there are none and what makes one. */
export function WithItems({
  items,
  what,
  run,
  children,
}: {
  items: Loaded<Schema<"Items">>;
  what: string;
  run: string;
  children: (items: Item[]) => ReactNode;
}) {
  if (items.state === "failed") return <Failure what={`The list of ${what}s`} problem={items.problem.message} />;
  if (items.state !== "ready") return <Loading what={`${what}s`} />;
  if (items.answer.items.length === 0) return <Empty what={`There is no ${what} in this folder.`} run={run} />;
  return <>{children(items.answer.items)}</>;
}
