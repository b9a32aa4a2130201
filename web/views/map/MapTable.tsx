"use client";

import { useState } from "react";
import { CauseChip } from "@/components/Chips";
import { Pager } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { Link } from "@/components/Link";
import { FATES } from "@/lib/fates";
import { count } from "@/lib/format";
import { useQuery } from "@/lib/url";
import type { Columns } from "@/views/map/columns";
import type { Shown } from "@/views/map/furniture";
import { requestName, sessionName, siteName, timeText } from "@/views/map/words";

const PAGE = 50;

interface Props {
  shown: Shown;
  chosen: number | null;
}

/** The same requests in the same order, as a table. */
export function MapTable({ shown, chosen }: Props) {
  const { to } = useQuery();
  const [asked, setOffset] = useState(0);
  const { columns } = shown.arranged;
  const offset = asked < columns.rows ? asked : 0;
  const rows = Array.from({ length: Math.min(PAGE, columns.rows - offset) }, (_, i) => offset + i);
  const shownColumns: Column<number>[] = [
    {
      id: "request",
      name: "Request",
      head: true,
      cell: (row) => (
        <Link href={to({ request: String(columns.index[row] ?? 0) })}>{requestName(columns, row)}</Link>
      ),
    },
    { id: "time", name: "Time", cell: (row) => timeText(columns.timeS[row] ?? NaN) },
    { id: "session", name: "Session", cell: (row) => sessionName(columns, row) },
    { id: "site", name: "Call site", cell: (row) => siteName(columns, row, shown.names) },
    { id: "prompt", name: "Prompt tokens", figure: true, cell: (row) => count(columns.promptTokens[row] ?? 0) },
    ...FATES.map(({ fate, meaning }, code) => ({
      id: fate,
      name: fate,
      title: meaning,
      figure: true,
      cell: (row: number) => count(tokensOf(columns, row, code)),
    })),
    {
      id: "break",
      name: "Break at token",
      figure: true,
      cell: (row) => ((columns.breakToken[row] ?? -1) < 0 ? "none" : count(columns.breakToken[row] ?? 0)),
    },
    {
      id: "cause",
      name: "Cause",
      cell: (row) => {
        const cause = columns.causes[columns.cause[row] ?? -1];
        return cause === undefined ? "" : <CauseChip cause={cause} />;
      },
    },
  ];
  return (
    <>
      <DataTable
        caption="Requests of the break map; tokens by fate are simulated"
        columns={shownColumns}
        rows={rows}
        rowKey={(row) => row}
        current={chosen === null ? null : columns.index.indexOf(chosen)}
      />
      <Pager what="request" total={columns.rows} offset={offset} limit={PAGE} onOffset={setOffset} />
    </>
  );
}

function tokensOf(columns: Columns, row: number, fate: number): number {
  const { start, kind, end } = columns.fates;
  let tokens = 0;
  let before = 0;
  for (let run = start[row] ?? 0; run < (start[row + 1] ?? 0); run += 1) {
    if (kind[run] === fate) tokens += (end[run] ?? 0) - before;
    before = end[run] ?? 0;
  }
  return tokens;
}
