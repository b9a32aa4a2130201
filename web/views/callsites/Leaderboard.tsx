"use client";

import { CauseChip, Confidence, OwnerChip } from "@/components/Chips";
import { type Column, DataTable } from "@/components/DataTable";
import { FateBar } from "@/components/Fates";
import { FindingCard } from "@/components/FindingCard";
import { Link } from "@/components/Link";
import { atDiff, atMap, atRequests, atSessions, atSite } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { count, counted, visible } from "@/lib/format";
import { useFrame } from "@/lib/frame";
import { type Order, readOrder, writeOrder } from "@/lib/order";
import { useQuery } from "@/lib/url";
import { RateBar } from "@/views/callsites/RateBar";
import styles from "@/views/callsites/CallSites.module.css";

type Row = Schema<"CallSiteRow">;
const MOST_LOST: Order = { column: "lost", descending: true };

/** Who loses most; a row opens to its findings. */
export function Leaderboard({ diagnosis, sites }: { diagnosis: string; sites: readonly Row[] }) {
  const { query, set, to } = useQuery();
  const file = useFile(diagnosis);
  const open = query.get("site");
  const columns: Column<Row>[] = [
    {
      id: "name",
      name: "Call site",
      head: true,
      className: styles.name,
      cell: (row) => (
        <button
          type="button"
          className={styles.opener}
          aria-expanded={open === row.id}
          onClick={() => set({ site: open === row.id ? null : row.id })}
        >
          <span aria-hidden="true" className={styles.turn}>
            {open === row.id ? "▾" : "▸"}
          </span>
          <span>
            {visible(row.name, 160)} <span className="dim">{visible(row.id, 40)}</span>
          </span>
        </button>
      ),
      sort: (row) => row.name,
    },
    {
      id: "requests",
      name: "Requests",
      figure: true,
      cell: (row) => <Link href={atRequests(diagnosis, { site: row.id })}>{count(row.requests)}</Link>,
      sort: (row) => row.requests,
    },
    {
      id: "sessions",
      name: "Sessions",
      figure: true,
      cell: (row) => <a href={atSessions(diagnosis, row.id)}>{count(row.sessions)}</a>,
      sort: (row) => row.sessions,
    },
    {
      id: "rate",
      name: "Hit rate, now → if fixed",
      title: "Both simulated",
      className: styles.rate,
      cell: (row) => (
        <RateBar
          now={row.hit_rate}
          fixed={row.hit_rate_if_fixed}
          rows={atRequests(diagnosis, { site: row.id, by: "hit_rate" })}
          findings={atSite(diagnosis, row.id)}
        />
      ),
      sort: (row) => row.hit_rate,
    },
    {
      id: "lost",
      name: "Lost tokens",
      title: "Diverged and evicted tokens, and hits that the server did not give (simulated)",
      figure: true,
      cell: (row) => (
        <Link href={atRequests(diagnosis, { site: row.id, by: "lost" })}>
          <strong>{count(row.lost_tokens)}</strong>
        </Link>
      ),
      sort: (row) => row.lost_tokens,
    },
    {
      id: "fates",
      name: "Tokens by fate",
      className: styles.fates,
      cell: (row) =>
        row.tokens === null ? (
          <span className="dim">no rows kept</span>
        ) : (
          <FateBar tokens={row.tokens} label={`Tokens of ${visible(row.id, 40)}`} />
        ),
    },
    { id: "cause", name: "First cause", cell: (row) => <FirstCause findings={row.findings} /> },
    {
      id: "confidence",
      name: "Confidence",
      cell: (row) => (row.findings[0] === undefined ? "–" : <Confidence value={row.findings[0].confidence} />),
    },
  ];
  return (
    <>
      <h2>Lost tokens by call site</h2>
      <DataTable
        caption={`${counted(sites.length, "call site")}; hit rates and lost tokens are simulated`}
        columns={columns}
        rows={sites}
        rowKey={(row) => row.id}
        order={readOrder(query.get("order")) ?? MOST_LOST}
        onOrder={(order) => set({ order: writeOrder(order) }, "replace")}
        current={open}
        boxed={false}
        detail={(row) => (row.id === open ? <Findings row={row} diagnosis={diagnosis} file={file} /> : null)}
      />
      {query.get("requests") === null && sites.length > 0 ? (
        <p>
          <Link href={to({ requests: "all" })}>All requests as a table</Link>
        </p>
      ) : null}
    </>
  );
}

function FirstCause({ findings }: { findings: readonly Schema<"Finding">[] }) {
  const [first, ...others] = findings;
  if (first === undefined) return <span className="dim">no finding</span>;
  return (
    <span className={styles.causes}>
      <CauseChip cause={first.cause} /> <OwnerChip owner={first.owner} />
      {others.length === 0 ? null : <span className="dim">and {others.length} more</span>}
    </span>
  );
}

function Findings({ row, diagnosis, file }: { row: Row; diagnosis: string; file: string | null }) {
  return (
    <div className={styles.findings}>
      <p>
        <a href={atMap(diagnosis, row.id)}>Break map</a> · <a href={atDiff(diagnosis, row.id)}>Prompt diff</a> ·{" "}
        <Link href={atRequests(diagnosis, { site: row.id })}>Requests</Link>
      </p>
      {row.findings.length === 0 ? (
        <p className="dim">No finding: what was lost here, if anything, has no cause that a change would remove.</p>
      ) : (
        row.findings.map((finding) => (
          <FindingCard key={finding.id} finding={finding} diagnosis={diagnosis} file={file} />
        ))
      )}
    </div>
  );
}

/** Where the diagnosis lies, as a command names it from beside the served folder. */
function useFile(diagnosis: string): string | null {
  const { diagnoses, server } = useFrame();
  if (diagnoses.state !== "ready" || server.state !== "ready") return null;
  const item = diagnoses.answer.items.find((one) => one.id === diagnosis);
  return item === undefined ? null : `${server.answer.name}/${item.path}`;
}
