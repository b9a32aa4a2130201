"use client";

import { useEffect, useRef } from "react";
import { CauseChip } from "@/components/Chips";
import { Pager, Select, TextField } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { FateBar } from "@/components/Fates";
import { Link } from "@/components/Link";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { FATES } from "@/lib/fates";
import { count, moment, percent, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { readFilter } from "@/views/callsites/filter";
import styles from "@/views/callsites/CallSites.module.css";

type Row = Schema<"RequestRow">;

const ORDERS = [
  { value: "time", name: "as recorded" },
  { value: "lost", name: "most lost tokens" },
  { value: "prompt", name: "longest prompt" },
  { value: "hit_rate", name: "lowest hit rate" },
] as const;
const ANY_FATE = [{ value: "", name: "any" }, ...FATES.map(({ fate }) => ({ value: fate as string, name: fate as string }))];

/** The requests that the address asks for, a page at a time; the server filters and sorts them. */
export function Requests({ diagnosis, sites }: { diagnosis: string; sites: readonly Schema<"CallSiteRow">[] }) {
  const { query, set, to } = useQuery();
  const filter = readFilter(query);
  const { limit, offset } = filter;
  const loaded = useApi("/api/diagnoses/{id}/requests", { path: { id: diagnosis }, query: filter });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const narrow = (name: string) => (value: string) => set({ [name]: value, offset: null });
  const causes = [...new Set(sites.flatMap((site) => site.findings.map((finding) => finding.cause)))].sort();
  return (
    <section aria-labelledby="requests">
      <h2 id="requests" ref={heading} tabIndex={-1} className={styles.requests}>
        Requests
      </h2>
      <div className={styles.filters}>
        <Select
          label="Call site"
          options={[
            { value: "all", name: "all" },
            ...sites.map((site) => ({ value: site.id, name: visible(`${site.id}: ${site.name}`, 60) })),
          ]}
          value={filter.call_site ?? "all"}
          onChange={narrow("requests")}
        />
        <Select
          label="Cause"
          options={[{ value: "", name: "any" }, ...causes.map((cause) => ({ value: cause, name: cause }))]}
          value={filter.cause ?? ""}
          onChange={narrow("cause")}
        />
        <Select label="With tokens" options={ANY_FATE} value={filter.fate ?? ""} onChange={narrow("fate")} />
        <TextField label="Session" value={filter.session ?? ""} onChange={narrow("session")} />
        <TextField label="Id contains" value={filter.text ?? ""} onChange={narrow("text")} />
        <Select label="Order" options={ORDERS} value={filter.order} onChange={narrow("by")} />
        <Link href={to(NO_FILTER)}>Close</Link>
      </div>
      <When loaded={loaded} what="the requests">
        {(page) => (
          <>
            <DataTable
              caption="Requests; fates are simulated"
              captionHidden
              columns={columnsOf(to)}
              rows={page.requests}
              rowKey={(row) => row.index}
              current={Number(query.get("request") ?? -1)}
              busy={loaded.state === "loading"}
            />
            <Pager
              what="request"
              total={page.total}
              offset={offset}
              limit={limit}
              onOffset={(to) => set({ offset: to === 0 ? null : String(to) })}
            />
          </>
        )}
      </When>
    </section>
  );
}

const NO_FILTER = {
  requests: null,
  cause: null,
  fate: null,
  session: null,
  text: null,
  by: null,
  offset: null,
  request: null,
};

function columnsOf(to: (changes: Record<string, string | null>) => string): Column<Row>[] {
  return [
    {
      id: "id",
      name: "Request",
      head: true,
      className: styles.id,
      cell: (row) => <Link href={to({ request: String(row.index) })}>{visible(row.id, 80)}</Link>,
    },
    {
      id: "session",
      name: "Session",
      className: styles.id,
      cell: (row) => <Link href={to({ session: row.session, offset: null })}>{visible(row.session, 60)}</Link>,
    },
    { id: "site", name: "Call site", cell: (row) => visible(row.call_site, 40) },
    {
      id: "time",
      name: "Recorded",
      className: styles.nowrap,
      cell: (row) => (row.time_s === null ? "–" : moment(row.time_s)),
    },
    { id: "prompt", name: "Prompt tokens", figure: true, cell: (row) => count(row.tokens.prompt) },
    {
      id: "hits",
      name: "Hit rate",
      title: "Simulated",
      figure: true,
      cell: (row) => (row.tokens.prompt === 0 ? "–" : percent(row.tokens.hit / row.tokens.prompt)),
    },
    {
      id: "fates",
      name: "Tokens by fate",
      className: styles.fates,
      cell: (row) => <FateBar tokens={row.tokens} label={`Tokens of ${visible(row.id, 80)}`} />,
    },
    {
      id: "lost",
      name: "Diverged, evicted",
      figure: true,
      cell: (row) => `${count(row.tokens.diverged)}, ${count(row.tokens.evicted)}`,
    },
    {
      id: "break",
      name: "Break",
      className: styles.break,
      cell: (row) =>
        row.break_token === null ? (
          <span className="dim">none</span>
        ) : (
          <>
            token {count(row.break_token)} {row.break_path === null ? null : <code>{visible(row.break_path, 80)}</code>}
          </>
        ),
    },
    {
      id: "causes",
      name: "Causes",
      cell: (row) => (
        <span className={styles.causes}>
          {row.causes.map((cause) => (
            <CauseChip key={cause} cause={cause} />
          ))}
        </span>
      ),
    },
  ];
}
