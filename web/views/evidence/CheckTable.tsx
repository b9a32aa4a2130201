"use client";

import { type Column, DataTable } from "@/components/DataTable";
import type { Schema } from "@/lib/api/client";
import { visible } from "@/lib/format";
import { figuresText } from "./canary";
import { Outcome } from "./Outcome";

type Check = Schema<"Check">;

const COLUMNS: readonly Column<Check>[] = [
  { id: "outcome", name: "outcome", cell: (row) => <Outcome outcome={row.outcome} /> },
  { id: "check", name: "check", head: true, cell: (row) => visible(row.code, 60) },
  { id: "message", name: "what was asked", cell: (row) => visible(row.message, 500) },
  { id: "figures", name: "figures", cell: (row) => <span className="dim">{visible(figuresText(row.figures), 500)}</span> },
];

/** The checks of a decision or a drill: all of them, not only those that refuse. */
export function CheckTable({ caption, checks }: { caption: string; checks: Check[] }) {
  return <DataTable boxed={false} caption={caption} columns={COLUMNS} rows={checks} rowKey={(row) => row.code} />;
}
