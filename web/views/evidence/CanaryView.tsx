"use client";

import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { StepChart } from "@/components/plot/StepChart";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { brief } from "@/components/plot/scale";
import { count, counted, factor, seconds, visible } from "@/lib/format";
import { type CanaryRun, type FloodStep, floodSteps, runsOf } from "./canary";
import { CheckTable } from "./CheckTable";
import { Facts } from "./Facts";
import { Outcome } from "./Outcome";

/** The record of a canary: baseline, candidate, decision, rollback drill. */
export function CanaryView({ id }: { id: string }) {
  const loaded = useApi("/api/canaries/{id}", { path: { id } });
  return (
    <When loaded={loaded} what="The canary">
      {(answer) => <Recorded answer={answer} />}
    </When>
  );
}

function Recorded({ answer }: { answer: Schema<"CanaryAnswer"> }) {
  const { record } = answer;
  const runs = runsOf(record);
  const steps = floodSteps(runs);
  const categories = steps.map((step) => count(step.flood_requests));
  const hot = record.baseline.pressure.hot_prefix_tokens;
  const lines = (of: (step: Schema<"PressureStep">) => number | null) =>
    runs.map(({ name }, index) => ({
      name,
      values: steps.map((step) => {
        const found = step.steps[index];
        return found === null || found === undefined ? null : of(found);
      }),
    }));
  return (
    <>
      <h2>
        Canary <OriginTag origin="measured" /> <Outcome outcome={answer.accepted ? "accepted" : "refused"} />
      </h2>
      <AboutServer record={record} />
      <h3>Tokens of the hot prefix still cached after so many one-use requests</h3>
      <StepChart
        label="Cached tokens of the hot prefix after each step of the flood"
        categories={categories}
        axis="one-use requests since the start"
        series={lines((step) => step.cached_tokens)}
        shown={(value) => counted(value, "token")}
        tick={brief}
        limit={{ name: `the whole hot prefix, ${count(hot)} tokens`, value: hot }}
      />
      <h3>TTFT of the hot request</h3>
      <StepChart
        label="Time to first token of the hot request after each step of the flood"
        categories={categories}
        axis="one-use requests since the start"
        series={lines((step) => step.ttft_s)}
        shown={seconds}
      />
      <DataTable
        caption="Hot request after each step of the flood (measured)"
        columns={stepColumns(runs)}
        rows={steps}
        rowKey={(step) => step.flood_requests}
      />
      <h3>
        Decision <Outcome outcome={record.decision.accepted ? "accepted" : "refused"} />
      </h3>
      <CheckTable caption="Checks of the decision" checks={record.decision.checks} />
      <h3>
        Rollback drill <Outcome outcome={record.drill.passed ? "passed" : "failed"} />
      </h3>
      <CheckTable caption="Checks of the drill: back to lru by one setting, nothing installed" checks={record.drill.checks} />
      {record.final.checks.length === 0 ? null : (
        <CheckTable caption="Checks of the last start" checks={record.final.checks} />
      )}
      <p>
        Final mode: <strong>{visible(record.final.mode, 40)}</strong>;{" "}
        {record.final.left_running ? "the server was left running." : "the server was stopped."}
      </p>
    </>
  );
}

function stepColumns(runs: CanaryRun[]): Column<FloodStep>[] {
  const each = (
    what: string,
    of: (step: Schema<"PressureStep">) => number | null,
    shown: (value: number) => string,
  ): Column<FloodStep>[] =>
    runs.map(({ name }, index) => ({
      id: `${what} ${name}`,
      name: `${what}, ${name}`,
      figure: true,
      cell: ({ steps }) => {
        const step = steps[index];
        const value = step === null || step === undefined ? null : of(step);
        return value === null ? "none" : shown(value);
      },
    }));
  return [
    { id: "flood", name: "one-use requests", head: true, cell: (step) => count(step.flood_requests) },
    ...each("cached", (step) => step.cached_tokens, count),
    ...each("TTFT", (step) => step.ttft_s, seconds),
    ...(runs.some(({ run }) => run.pressure.failed_requests > 0)
      ? each("failed", (step) => step.failed_requests, count)
      : []),
  ];
}

function AboutServer({ record }: { record: Schema<"CanaryRecord"> }) {
  const { model, identity, options, settings } = record;
  const candidate = record.candidate?.plugin;
  return (
    <Facts
      facts={[
        ["recorded", visible(record.recorded_at, 60)],
        ["server", `vLLM ${visible(identity.versions.vllm, 40)}, ${visible(model.name, 120)}, ${count(model.capacity_blocks)} blocks of ${count(model.block_size)} tokens`],
        ["device", visible(identity.device, 200)],
        ["candidate", Object.entries(settings).map(([name, value]) => visible(`${name}=${value}`, 120)).join(", ")],
        ["rule", candidate === undefined ? null : `${visible(candidate.rule, 40)}, scan limit ${count(candidate.scan_limit)}; ${count(candidate.reordered_decisions)} of ${count(candidate.decisions)} decisions reordered`],
        ["TTFT budget", `${factor(options.ttft_budget)} that of lru`],
        ["commit", identity.commit === null ? null : <code key="commit">{visible(identity.commit, 80)}</code>],
      ]}
    />
  );
}
