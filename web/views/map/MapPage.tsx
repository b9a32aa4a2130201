"use client";

import { useCallback, useMemo, useState } from "react";
import { FateLegend } from "@/components/Fates";
import { OriginTag } from "@/components/Figure";
import { RequestDetail } from "@/components/RequestDetail";
import { Link } from "@/components/Link";
import { Empty, Failure, Loading } from "@/components/States";
import { atRequests } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { arranged, type Filters, type Group, GROUPS, lines } from "@/views/map/arrange";
import type { Columns } from "@/views/map/columns";
import { SectionLegend } from "@/views/map/Legend";
import { MapBoard } from "@/views/map/MapBoard";
import { MapTable } from "@/views/map/MapTable";
import type { Bands } from "@/views/map/paint";
import { Toolbar } from "@/views/map/Toolbar";
import { MOST_ROWS, useColumns } from "@/views/map/useColumns";
import type { SiteNames } from "@/views/map/words";
import styles from "@/views/map/Map.module.css";

/** The map with its controls; what is shown is in the address. */
export function MapPage({ id, tokens }: { id: string; tokens: Schema<"TokenFates"> }) {
  const { query, set } = useQuery();
  const callSite = query.get("site");
  const session = query.get("session");
  const cause = query.get("cause");
  // Up to the limit the browser has all rows and filters them; beyond it the server has to.
  const [large, setLarge] = useState(false);
  const map = useColumns(id, large ? { callSite, session } : { callSite: null, session: null });
  if (!large && map.columns !== null && map.columns.total > MOST_ROWS) setLarge(true);
  const names = useSiteNames(id);
  const chosen = useChosen(id);
  const filters = useMemo(() => ({ callSite, session, cause }), [callSite, session, cause]);
  // The marks stay when the panel is closed: that is when they can be seen.
  const [marked, setMarked] = useState(chosen);
  if (chosen.index !== null && chosen !== marked) setMarked(chosen);
  const choose = useCallback((index: number) => set({ request: String(index) }), [set]);
  const close = useCallback(() => set({ request: null }), [set]);
  return (
    <>
      <div className={styles.legends}>
        <FateLegend tokens={tokens} to={(fate) => atRequests(id, { fate })} />
        {map.columns === null ? null : <SectionLegend sections={map.columns.sections} />}
        <OriginTag origin="simulated" />
      </div>
      {map.problem === null ? null : <Failure what="The map" problem={map.problem.message} />}
      {map.columns === null && map.problem === null ? <Loading what="the map" /> : null}
      {map.columns === null ? null : (
        <Arrangement
          columns={map.columns}
          filters={filters}
          names={names}
          chosen={marked}
          onChoose={(index) => (index === null ? setMarked(NONE) : choose(index))}
        />
      )}
      <Progress columns={map.problem === null ? map.columns : null} complete={map.complete} />
      {chosen.index === null ? null : (
        <RequestDetail diagnosis={id} index={chosen.index} onClose={close} onOpen={choose} />
      )}
    </>
  );
}

const NONE: ChosenRequest = { index: null, baseline: null };

/** A request and its baseline, by their place in the trace. */
export interface ChosenRequest {
  index: number | null;
  baseline: number | null;
}

interface ArrangementProps {
  columns: Columns;
  filters: Filters;
  names: SiteNames;
  chosen: ChosenRequest;
  onChoose: (index: number | null) => void;
}

function Arrangement({ columns, filters, names, chosen, onChoose }: ArrangementProps) {
  const { query, set, to } = useQuery();
  const group = oneOf(GROUPS, query.get("group"), "time");
  const bands = oneOf<Bands>(["off", "strip", "fill"], query.get("sections"), "strip");
  const asTable = query.get("as") === "table";
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => {
    const now = arranged(columns, group, filters);
    return { arranged: now, lines: lines(now.columns.rows, now.groups, folded), folded, names };
  }, [columns, group, filters, folded, names]);
  const fold = (name: string) => {
    const next = new Set(folded);
    if (!next.delete(name)) next.add(name);
    setFolded(next);
  };
  // Another order of requests: what was in the window is elsewhere now.
  const regroup = (value: Group) => {
    setFolded(new Set());
    set({ group: value === "time" ? null : value, at: null });
  };
  const allFolded = (yes: boolean) =>
    setFolded(new Set(yes ? shown.arranged.groups.map(({ name }) => name) : []));
  return (
    <div className={styles.stage}>
      <Toolbar
        columns={columns}
        filters={filters}
        names={names}
        group={group}
        bands={bands}
        asTable={asTable}
        onGroup={regroup}
        onChange={(changes) => set({ ...changes, at: null })}
        onShow={set}
        onFold={group === "time" ? null : allFolded}
      />
      {shown.arranged.columns.rows === 0 ? (
        <div>
          <Empty what={columns.rows === 0 ? "The trace holds no requests." : "No request passes these filters."}>
            <p>
              <Link href={to({ site: null, session: null, cause: null, at: null })}>Show every request</Link>
            </p>
          </Empty>
        </div>
      ) : asTable ? (
        <MapTable shown={shown} chosen={chosen.index} />
      ) : (
        <MapBoard shown={shown} bands={bands} chosen={chosen} onChoose={onChoose} onFold={fold} />
      )}
    </div>
  );
}

function Progress({ columns, complete }: { columns: Columns | null; complete: boolean }) {
  const cut = columns !== null && complete && columns.rows < columns.total;
  return (
    <p role="status" className={styles.status}>
      {columns === null
        ? ""
        : cut
          ? `The first ${count(columns.rows)} of ${count(columns.total)} requests: choose a call site or a session to see others.`
          : complete
            ? ""
            : `Loading: ${count(columns.rows)} of ${count(Math.min(columns.total, MOST_ROWS))} requests are there.`}
    </p>
  );
}

function useSiteNames(id: string): SiteNames {
  const sites = useApi("/api/diagnoses/{id}/call-sites", { path: { id } });
  const held = sites.state === "ready" ? sites.answer.call_sites : null;
  return useMemo(() => new Map((held ?? []).map((site) => [site.id, site.name])), [held]);
}

/** The request of the address, with the one it is compared with as soon as that is known. */
function useChosen(id: string): ChosenRequest {
  const { query } = useQuery();
  const text = query.get("request") ?? "";
  const index = /^\d{1,9}$/.test(text) ? Number(text) : null;
  const request = useApi("/api/diagnoses/{id}/requests/{index}", index === null ? null : { path: { id, index } });
  const baseline = request.state === "ready" ? (request.answer.baseline?.index ?? null) : null;
  return useMemo(() => ({ index, baseline }), [index, baseline]);
}

function oneOf<Value extends string>(values: readonly Value[], asked: string | null, otherwise: Value): Value {
  return values.find((value) => value === asked) ?? otherwise;
}
