"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { Link } from "@/components/Link";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count, counted, factor, percent, seconds, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { askFor } from "./address";
import { Facts, Sentences } from "./Facts";
import { delta, type Estimate, interval, points, short } from "./figures";
import { IntegrityLine } from "./IntegrityLine";
import { IntervalBars } from "./IntervalBars";
import { Outcome } from "./Outcome";
import { Pairs } from "./Pairs";
import { SimulatedTable } from "./SimulatedTable";
import styles from "./Evidence.module.css";

interface Line {
  name: string;
  before: Estimate | null;
  after: Estimate | null;
  change: Estimate;
  changeName: string;
  shown: (value: number) => string;
  changed: (value: number) => string;
}

function linesOf({ hit_rate, ttft }: Schema<"Comparison">): Line[] {
  const times = { before: ttft.before_median_s, after: ttft.after_median_s, shown: seconds };
  return [
    { name: "Hit rate", before: hit_rate.before, after: hit_rate.after, change: hit_rate.difference, changeName: "after less before", shown: percent, changed: points },
    { name: "TTFT, median", ...times, change: ttft.ratio, changeName: "before ÷ after", changed: factor },
    { name: "TTFT, paired difference", before: null, after: null, change: ttft.paired_delta_s, changeName: "median over pairs", shown: seconds, changed: delta },
  ];
}

function Figure({ estimate, shown }: { estimate: Estimate; shown: (value: number) => string }) {
  return (
    <>
      <strong>{shown(estimate.value)}</strong> <span className="dim">({interval(estimate, shown)})</span>
    </>
  );
}

const COLUMNS: readonly Column<Line>[] = [
  { id: "figure", name: "figure", head: true, cell: (line) => line.name },
  { id: "before", name: "BEFORE", figure: true, cell: (line) => (line.before === null ? "" : <Figure estimate={line.before} shown={line.shown} />) },
  { id: "after", name: "AFTER", figure: true, cell: (line) => (line.after === null ? "" : <Figure estimate={line.after} shown={line.shown} />) },
  { id: "change", name: "change", figure: true, cell: (line) => <Figure estimate={line.change} shown={line.changed} /> },
  { id: "how", name: "how", cell: (line) => <span className="dim">{line.changeName}</span> },
];

/** BEFORE against AFTER, measured on a real server. */
export function ComparisonView({ id }: { id: string }) {
  const loaded = useApi("/api/comparisons/{id}", { path: { id } });
  return (
    <When loaded={loaded} what="The comparison">
      {(answer) => <Compared answer={answer} />}
    </When>
  );
}

function Compared({ answer }: { answer: Schema<"ComparisonAnswer"> }) {
  const { comparison } = answer;
  const { bootstrap, pairs, outputs, ttft } = comparison;
  const share = Math.round(100 * bootstrap.confidence);
  return (
    <>
      <h2>
        BEFORE and AFTER <OriginTag origin="measured" /> <Outcome outcome={comparison.complete ? "complete" : "incomplete"} />
      </h2>
      <Sentences title="Warnings" lines={comparison.warnings.map((line) => visible(line, 500))} />
      <DataTable
        caption={`${share}% intervals: ${count(bootstrap.resamples)} resamples of ${counted(bootstrap.units, bootstrap.unit)}, seed ${bootstrap.seed}`}
        columns={COLUMNS}
        rows={linesOf(comparison)}
        rowKey={(line) => line.name}
      />
      <IntervalBars
        label="Hit rate before and after, with intervals"
        rows={[
          { name: "hit rate before", estimate: comparison.hit_rate.before },
          { name: "hit rate after", estimate: comparison.hit_rate.after },
        ]}
      />
      <p>
        <a href="#pairs">{counted(pairs.compared, "pair")}</a> by {pairs.by}; {pairs.left_out === 0 ? "none left out" : `${count(pairs.left_out)} left out`}.{" "}
        {count(ttft.faster_pairs)} became faster, {count(ttft.slower_pairs)} slower. Generated texts:{" "}
        {count(outputs.equal)} equal, {count(outputs.changed)} changed, by digest; whether a change matters is for the
        guard to say.
      </p>
      <Pairs id={answer.id} median={ttft.paired_delta_s} total={pairs.compared} />
      <SimulatedTable before={comparison.simulated_before} after={comparison.simulated_after} />
      <h2>What the figures rest on</h2>
      <div className={styles.boundary}>
        <Sentences title="Held equal" lines={comparison.boundary.held_equal.map((line) => visible(line, 500))} />
        <Sentences title="Not held equal" lines={comparison.boundary.not_held_equal.map((line) => visible(line, 500))} />
        <Sentences title="Limits" lines={comparison.boundary.limits.map((line) => visible(line, 500))} />
      </div>
      <IntegrityLine integrity={answer.integrity} />
      <RunFacts name="BEFORE" side={comparison.before} replay={answer.before} />
      <RunFacts name="AFTER" side={comparison.after} replay={answer.after} />
    </>
  );
}

function RunFacts({ name, side, replay }: { name: string; side: Schema<"Side">; replay: string | null }) {
  const { to } = useQuery();
  const { requests } = side;
  return (
    <>
      <h3>{name}</h3>
      <Facts
        facts={[
          ["run", replay === null ? `${visible(side.label, 60)} (not in the folder)` : <Link key="run" href={to(askFor({ kind: "replay", id: replay }))}>{visible(side.label, 60)}, its requests</Link>],
          ["started", visible(side.started, 60)],
          ["requests", `${count(requests.ok)} succeeded, ${count(requests.failed)} failed, ${count(requests.not_sent)} not sent`],
          ["trace", <code key="trace" title={side.trace_sha256}>{short(side.trace_sha256)}</code>],
          ["chain digest", <code key="chain">{side.chain_sha256}</code>],
        ]}
      />
    </>
  );
}
