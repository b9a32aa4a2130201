// Evidence is addressed by its kind: /evidence/?verdict=ID.

import type { Item, Kind } from "@/components/Results";

export const KINDS = ["comparison", "replay", "verdict", "task", "canary", "tuning"] as const satisfies readonly Kind[];
export type EvidenceKind = (typeof KINDS)[number];

export const KIND_NAMES: Record<EvidenceKind, string> = {
  comparison: "BEFORE and AFTER",
  replay: "Measured runs",
  verdict: "Verdicts of the guard",
  task: "Tasks of repair",
  canary: "Canaries",
  tuning: "Searches for the scan limit",
};

/** Names in the address that belong to one result and mean nothing to another. */
const OF_ONE = ["order", "offset", "pair", "case"];

export function isEvidence(kind: Kind): kind is EvidenceKind {
  return (KINDS as readonly Kind[]).includes(kind);
}

export interface Asked {
  kind: EvidenceKind;
  id: string;
}

export function readAsked(query: URLSearchParams): Asked | null {
  for (const kind of KINDS) {
    const id = query.get(kind);
    if (id !== null && id !== "") return { kind, id };
  }
  return null;
}

/** The changes of the address that lead to one result. */
export function askFor({ kind, id }: Asked): Record<string, string | null> {
  const gone = Object.fromEntries([...KINDS, ...OF_ONE].map((name) => [name, null]));
  return { ...gone, [kind]: id };
}

/** What is shown where the address asks for nothing: what was measured, else what was guarded. */
export function firstOf(items: Item[]): Asked | null {
  for (const kind of KINDS) {
    const item = items.find((candidate) => candidate.kind === kind && candidate.problem === null);
    if (item !== undefined) return { kind, id: item.id };
  }
  const broken = items.find((item) => isEvidence(item.kind));
  return broken !== undefined && isEvidence(broken.kind) ? { kind: broken.kind, id: broken.id } : null;
}
