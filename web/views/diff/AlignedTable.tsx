"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { Link } from "@/components/Link";
import { atRequests } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { counted, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { change } from "@/views/diff/align";
import styles from "@/views/diff/Diff.module.css";

type Row = Schema<"AlignedRequest"> & { before: Schema<"AlignedRequest"> | undefined };

/** One row a request, one column a slot. */
export function AlignedTable({
  diagnosis,
  template,
  names,
}: {
  diagnosis: string;
  template: Schema<"Template">;
  names: (slot: string) => string;
}) {
  const { query, to } = useQuery();
  const rows = template.requests.map((row, place) => ({ ...row, before: template.requests[place - 1] }));
  const columns: Column<Row>[] = [
    {
      id: "request",
      name: "Request",
      head: true,
      className: styles.id,
      cell: (row) => <Link href={to({ request: String(row.index) })}>{visible(row.id, 80)}</Link>,
    },
    {
      id: "session",
      name: "Session",
      className: styles.id,
      cell: (row) => <a href={atRequests(diagnosis, { session: row.session })}>{visible(row.session, 60)}</a>,
    },
    ...template.slots.map(
      (slot): Column<Row> => ({
        id: slot.id,
        name: visible(names(slot.id), 60),
        title: visible(`${slot.path}: ${counted(slot.distinct, "value")} in ${counted(slot.requests, "request")}`, 300),
        cell: (row) => <Value row={row} slot={slot.id} />,
      }),
    ),
  ];
  if (rows.length === 0) return <p className="dim">No request’s values were kept.</p>;
  return (
    <DataTable
      caption="The requests of the call site, and their values in each slot"
      captionHidden
      columns={columns}
      rows={rows}
      rowKey={(row) => row.index}
      current={Number(query.get("request") ?? -1)}
    />
  );
}

function Value({ row, slot }: { row: Row; slot: string }) {
  const kind = change(row, row.before, slot);
  const value = row.values[slot];
  if (value === undefined) return <span className="dim">not there</span>;
  const text = <code className={styles.value}>{visible(value, 400) || "(empty)"}</code>;
  if (kind === "differs") {
    return (
      <div className={styles.differs}>
        <span aria-hidden="true">◆ </span>
        <span className="hidden">differs: </span>
        {text}
      </div>
    );
  }
  return <div className={styles.same}>{kind === "unknown" ? <span title="Masked or cut: equal or not cannot be told">{text} ?</span> : text}</div>;
}
