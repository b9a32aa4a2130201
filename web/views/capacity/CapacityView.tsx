"use client";

import { useMemo } from "react";
import { Figure, OriginTag } from "@/components/Figure";
import { chosenOf, type Item, ResultPicker, useFolder, useItems, WithItems } from "@/components/Results";
import { Failure, When } from "@/components/States";
import { atRequests } from "@/lib/address";
import { useApi } from "@/lib/api/use";
import { TWO_WAYS_TO_ADD } from "@/lib/fixed";
import { count, counted, percent, visible } from "@/lib/format";
import { useFrame } from "@/lib/frame";
import { useQuery } from "@/lib/url";
import { Curves } from "./Curves";
import { Distances } from "./Distances";
import { levelsOf } from "./levels";
import { chosenPolicies, policiesOf, type Simulation } from "./model";
import { EventsTable, RecordedTable, RowsTable, SizesTable } from "./Tables";
import styles from "./Capacity.module.css";

/** How large a cache must be, and what no cache can give. */
export function CapacityView() {
  const items = useItems("cache-simulation");
  const folder = useFolder();
  const run = `keepwarm simulate cache YOUR-TRACE.jsonl --curve --if-fixed --json > ${folder}/cache.json`;
  return (
    <>
      <h1>Capacity</h1>
      <WithItems items={items} what="cache simulation" run={run}>
        {(found) => <Chosen items={found} />}
      </WithItems>
    </>
  );
}

function Chosen({ items }: { items: Item[] }) {
  const { query, set } = useQuery();
  const { diagnoses } = useFrame();
  const known = diagnoses.state === "ready" ? diagnoses.answer.items : [];
  // Without a choice, the one of the same requests as the diagnosis that is looked at.
  const looked = known.find((item) => item.id === query.get("diagnosis"));
  const sibling = items.find((item) => item.problem === null && item.trace_sha256 === looked?.trace_sha256);
  const chosen = chosenOf(items, query.get("simulation") ?? sibling?.id ?? null);
  const loaded = useApi(
    "/api/cache-simulations/{id}",
    chosen === null || chosen.problem !== null ? null : { path: { id: chosen.id } },
  );
  const fits = known.filter((item) => item.problem === null && item.trace_sha256 === chosen?.trace_sha256);
  const diagnosis = fits.find((item) => item.id === looked?.id) ?? fits[0] ?? null;
  return (
    <>
      <ResultPicker
        label="Simulation"
        items={items}
        chosen={chosen?.id ?? ""}
        onChoose={(id) => set({ simulation: id, policies: null, distances: null })}
      />
      {chosen?.problem === null || chosen === null ? null : (
        <Failure what={visible(chosen.path, 200)} problem={visible(chosen.problem, 500)} />
      )}
      <When loaded={loaded} what="The simulation">
        {(simulation) => <Simulated simulation={simulation} diagnosis={diagnosis?.id ?? null} />}
      </When>
    </>
  );
}

function Simulated({ simulation, diagnosis }: { simulation: Simulation; diagnosis: string | null }) {
  const { query } = useQuery();
  const loaded = useApi("/api/diagnoses/{id}", diagnosis === null ? null : { path: { id: diagnosis } });
  const document = loaded.state === "ready" ? loaded.answer.diagnosis : null;
  const levels = useMemo(() => levelsOf(simulation, document), [simulation, document]);
  const chosen = chosenPolicies(policiesOf(simulation), query.get("policies"));
  const rows = simulation.rows.filter((row) => chosen.includes(row.policy));
  const requests = diagnosis === null ? null : atRequests(diagnosis);
  const { ceiling, cache, input, server, sampled_curve: sampled } = simulation;
  return (
    <>
      <p>
        <OriginTag origin="simulated" /> {counted(input.requests, "request")} of {visible(input.path, 200)}, one after
        another as recorded, blocks of {count(cache.block_size)} tokens,{" "}
        {counted(cache.distinct_blocks, "different block")}; the largest prompt takes {count(cache.largest_prompt_blocks)}.
        {simulation.encoding.exact ? "" : " Token counts are approximate."}
      </p>
      <div className={styles.figures}>
        {levels.map((level) => (
          <Figure key={level.name} label={level.name} value={percent(level.rate)} origin="simulated" href={requests}>
            {level.rate === ceiling.hit_rate ? `${count(ceiling.hit_tokens)} of ${counted(ceiling.query_tokens, "token")}` : "no size gets more"}
          </Figure>
        ))}
        {server === null ? null : (
          <Figure label={`This GPU, estimated: ${visible(server.gpu, 60)}`} value={count(server.usable_blocks)} unit="blocks">
            {visible(server.summary, 500)}
          </Figure>
        )}
      </div>
      {(simulation.if_fixed?.findings.length ?? 0) < 2 ? null : <p className="dim">{TWO_WAYS_TO_ADD}</p>}
      <Curves simulation={simulation} levels={levels} />
      {sampled === null ? null : (
        <p>
          Estimated from {count(sampled.followed_blocks)} of {counted(sampled.distinct_blocks, "block")} (rate{" "}
          {sampled.rate}, seed {sampled.seed}): with 95% confidence the exact rate is within{" "}
          {(100 * Math.max(...sampled.points.map((point) => point.error), 0)).toFixed(2)} points of the line. The ceiling
          is exact.
        </p>
      )}
      {server === null ? (
        <p className="dim">
          No server size: with <code>--model-config</code> and <code>--gpu</code> the size of a GPU is marked, and sizes are
          given in GiB.
        </p>
      ) : null}
      <h2>
        Sizes for a share of the ceiling <OriginTag origin="simulated" />
      </h2>
      <SizesTable simulation={simulation} chosen={chosen} />
      {rows.length === 0 ? null : (
        <>
          <h2 id="rows">
            Rows by policy and capacity <OriginTag origin="simulated" />
          </h2>
          <RowsTable simulation={simulation} rows={rows} />
          <h2>From eviction to reuse</h2>
          <Distances rows={rows} />
          <h2>Recorded by the server</h2>
          <RecordedTable rows={rows} requests={requests} />
          <EventsTable rows={rows} />
        </>
      )}
    </>
  );
}
