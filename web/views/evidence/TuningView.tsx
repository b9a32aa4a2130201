"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { StepChart } from "@/components/plot/StepChart";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count, factor, seconds, visible } from "@/lib/format";
import { CheckTable } from "./CheckTable";
import { Facts } from "./Facts";
import { Outcome } from "./Outcome";

type Trial = Schema<"Trial">;
type Tuning = Schema<"TuningRecord">;

const COLUMNS: readonly Column<Trial>[] = [
  { id: "rule", name: "rule", head: true, cell: (row) => row.rule },
  { id: "limit", name: "scan limit", figure: true, cell: (row) => count(row.scan_limit) },
  { id: "p95", name: "p95 TTFT", figure: true, cell: (row) => (row.p95_ttft_s === null ? "none" : seconds(row.p95_ttft_s)) },
  { id: "ratio", name: "÷ lru", figure: true, cell: (row) => (row.p95_ratio === null ? "none" : factor(row.p95_ratio)) },
  { id: "budget", name: "within the budget", cell: (row) => (row.run === null ? "did not serve" : row.within_budget ? "yes" : "no") },
  { id: "protects", name: "hot prefix protected", cell: (row) => (row.protects ? "yes" : "no") },
];

/** The record of a search for the smallest scan limit that protects within the budget. */
export function TuningView({ id }: { id: string }) {
  const loaded = useApi("/api/tunings/{id}", { path: { id } });
  return (
    <When loaded={loaded} what="The search for the scan limit">
      {(answer) => (
        <>
          <h2>
            Scan limit <OriginTag origin="measured" /> <Outcome outcome={answer.accepted ? "accepted" : "refused"} />
          </h2>
          <Tuned tuning={answer.tuning} />
        </>
      )}
    </When>
  );
}

function Tuned({ tuning }: { tuning: Tuning }) {
  const { options, trials } = tuning;
  const budget = options.p95_ttft_budget;
  const limit_s = budget.unit === "s" ? budget.value : budget.value * tuning.baseline_p95_ttft_s;
  const limits = [...new Set(trials.map((trial) => trial.scan_limit))].sort((a, b) => a - b);
  const rules = [...new Set(trials.map((trial) => trial.rule))];
  const series = rules.map((rule) => ({
    name: rule,
    values: limits.map(
      (scan) => trials.find((trial) => trial.rule === rule && trial.scan_limit === scan)?.p95_ttft_s ?? null,
    ),
  }));
  return (
    <>
      <Facts
        facts={[
          ["choice", tuning.choices.map((choice) => `${choice.rule}: ${choice.scan_limit === null ? "no limit fits" : count(choice.scan_limit)}`).join(", ")],
          ["budget", `p95 TTFT ${budget.unit === "s" ? seconds(budget.value) : `${factor(budget.value)} that of lru`}, which is ${seconds(limit_s)}`],
          ["lru", `p95 TTFT ${seconds(tuning.baseline_p95_ttft_s)}`],
          ["recorded", visible(tuning.recorded_at, 60)],
          ["server", `vLLM ${visible(tuning.identity.versions.vllm, 40)}, ${visible(tuning.model.name, 120)}, ${count(tuning.model.capacity_blocks)} blocks of ${count(tuning.model.block_size)} tokens`],
          ["device", visible(tuning.identity.device, 200)],
        ]}
      />
      <StepChart
        label="p95 time to first token by scan limit and rule"
        categories={limits.map(count)}
        axis="blocks scanned at most"
        series={series}
        shown={seconds}
        limit={{ name: `budget ${seconds(limit_s)}`, value: limit_s }}
      />
      <DataTable caption="Rules and limits that were tried (measured)" columns={COLUMNS} rows={trials} rowKey={(row) => `${row.rule} ${row.scan_limit}`} />
      <h3>
        Rollback drill <Outcome outcome={tuning.drill.passed ? "passed" : "failed"} />
      </h3>
      <CheckTable caption="Checks of the drill" checks={tuning.drill.checks} />
    </>
  );
}
