"use client";

import { useMemo } from "react";
import { Command } from "@/components/Command";
import { Select } from "@/components/Controls";
import { OriginTag } from "@/components/Figure";
import { chosenOf, type Item, nameOf, ResultPicker, useFolder, useItems } from "@/components/Results";
import { Empty, Failure, Loading, When } from "@/components/States";
import { type Loaded, useApi } from "@/lib/api/use";
import { count, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { figuresOf, rowOf } from "./figures";
import { Runs, type ShownRun } from "./Runs";
import type { Timeline } from "./segments";
import { ServingTable } from "./ServingTable";
import styles from "./Sessions.module.css";

const SIMULATE = "keepwarm simulate serving YOUR-TRACE.jsonl --scheduling fcfs,active-set --eviction lru,cachewise";

/** What each session of a simulated server waited for, computed and lost; policies beside each other. */
export function SessionsView() {
  const timelines = useItems("timeline");
  const simulations = useItems("serving-simulation");
  const folder = useFolder();
  const run = `${SIMULATE} --timelines ${folder}/timelines --json > ${folder}/serving.json`;
  return (
    <>
      <h1>Sessions</h1>
      {timelines.state === "failed" ? <Failure what="The list of timelines" problem={timelines.problem.message} /> : null}
      {timelines.state === "ready" && simulations.state !== "loading" ? (
        <Found
          timelines={timelines.answer.items}
          simulations={simulations.state === "ready" ? simulations.answer.items : []}
          run={run}
        />
      ) : timelines.state === "failed" ? null : (
        <Loading what="timelines" />
      )}
    </>
  );
}

function Found({ timelines, simulations, run }: { timelines: Item[]; simulations: Item[]; run: string }) {
  if (timelines.length > 0) {
    return (
      <>
        <Timelines items={timelines} simulations={simulations} />
        {simulations.length === 0 ? null : <Simulations items={simulations} like={baselineOf(timelines)} />}
      </>
    );
  }
  if (simulations.length === 0) {
    return <Empty what="There is no serving simulation and no timeline of sessions in this folder." run={run} />;
  }
  return (
    <>
      <p>
        The folder has no timelines: what happened to each session over time is written by <code>--timelines</code>.
      </p>
      <Command run={run} />
      <Simulations items={simulations} like={null} />
    </>
  );
}

function Timelines({ items, simulations }: { items: Item[]; simulations: Item[] }) {
  const { query, set } = useQuery();
  // Without a choice: the first that was asked for, its file the oldest, beside the last, its file the newest.
  const first = items.find((item) => item.id === query.get("run")) ?? baselineOf(items);
  const others = items.filter((item) => item.id !== first?.id);
  const asked = query.get("beside");
  const second = asked === "none" ? null : (others.find((item) => item.id === asked) ?? sibling(others, first));
  const a = useApi("/api/timelines/{id}", first === null ? null : { path: { id: first.id } });
  const b = useApi("/api/timelines/{id}", second === null ? null : { path: { id: second.id } });
  const like = simulations.find((item) => item.problem === null && item.trace_sha256 === first?.trace_sha256);
  const simulation = like === undefined ? null : like.id;
  const report = useApi("/api/serving-simulations/{id}", simulation === null ? null : { path: { id: simulation } });
  const served = report.state === "ready" ? report.answer : null;
  const runs = useMemo(() => {
    const shown: ShownRun[] = [];
    for (const loaded of [a, b]) {
      if (loaded.state !== "ready") continue;
      const timeline = loaded.answer;
      const row = served === null ? null : rowOf(timeline, served);
      shown.push({
        name: runName(timeline),
        timeline,
        figures: figuresOf(timeline),
        row: row === null || simulation === null ? null : { row, simulation },
      });
    }
    return apart(shown);
  }, [a, b, served, simulation]);
  const none = [{ value: "none", name: "nothing" }];
  const clear = { from: null, to: null, session: null, request: null, rows: null };
  const waiting = a.state === "loading" || b.state === "loading";
  return (
    <>
      <div className={styles.controls}>
        <ResultPicker
          label="Run"
          items={items}
          chosen={first?.id ?? ""}
          onChoose={(id) => set({ ...clear, run: id, beside: id === second?.id ? null : (second?.id ?? "none") })}
        />
        {others.length === 0 ? null : (
          <Select
            label="Beside"
            options={[...none, ...others.map((item) => ({ value: item.id, name: nameOf(item) }))]}
            value={second?.id ?? "none"}
            onChange={(id) => set({ ...clear, run: first?.id ?? null, beside: id })}
          />
        )}
      </div>
      <Problem what="The run" loaded={a} />
      <Problem what="The run beside it" loaded={b} />
      {runs[0] === undefined ? null : <About timeline={runs[0].timeline} other={runs[1]?.timeline ?? null} />}
      {waiting ? <Loading what="the timelines" /> : null}
      {runs.length === 0 || waiting ? null : <Runs runs={runs} />}
    </>
  );
}

/** The newest result of the same requests. */
function ofTrace(items: Item[], trace_sha256: string | null | undefined): Item | undefined {
  return items.find((item) => item.problem === null && item.trace_sha256 === trace_sha256);
}

/** The oldest timeline of the trace that the newest one is of. */
function baselineOf(items: Item[]): Item | null {
  const newest = chosenOf(items, null);
  const fit = items.filter((item) => item.problem === null && item.trace_sha256 === newest?.trace_sha256);
  return fit.at(-1) ?? newest;
}

/** The run to set beside: of the same trace, by another order or eviction. */
function sibling(others: Item[], first: Item | null): Item | null {
  const fit = others.filter((item) => item.problem === null && item.trace_sha256 === first?.trace_sha256);
  return fit[0] ?? null;
}

function runName(timeline: Timeline): string {
  return `${timeline.scheduling} + ${timeline.eviction}`;
}

/** Runs of one name, say of two seeds, are told apart. */
function apart(runs: ShownRun[]): ShownRun[] {
  if (runs.length < 2 || runs[0]?.name !== runs[1]?.name) return runs;
  return runs.map((run, index) => ({ ...run, name: `${run.name}, ${index === 0 ? "first" : "second"}` }));
}

function About({ timeline, other }: { timeline: Timeline; other: Timeline | null }) {
  const differ = other === null ? [] : differences(timeline, other);
  return (
    <>
      <p>
        <OriginTag origin="simulated" /> {visible(timeline.profile, 80)}, M = {count(timeline.capacity_tokens)} tokens in
        blocks of {count(timeline.block_size)}, steps of {count(timeline.step_tokens)} tokens, seed {timeline.seed};
        sessions {visible(timeline.population, 40)}, gaps × {timeline.gap_scale}.
      </p>
      {differ.length === 0 ? null : (
        <p role="note" className={styles.warning}>
          The runs differ in more than their policies: {differ.join(", ")}. They are no comparison of policies.
        </p>
      )}
    </>
  );
}

function differences(a: Timeline, b: Timeline): string[] {
  const names = {
    trace_sha256: "trace",
    profile: "profile",
    seed: "seed",
    capacity_tokens: "M",
    block_size: "block size",
    step_tokens: "step tokens",
    population: "population",
    gap_scale: "gap scale",
    host_memory_gib: "host memory",
  } as const;
  const keys = Object.keys(names) as (keyof typeof names)[];
  return keys.filter((key) => a[key] !== b[key]).map((key) => names[key]);
}

function Problem({ what, loaded }: { what: string; loaded: Loaded<unknown> }) {
  return loaded.state === "failed" ? <Failure what={what} problem={loaded.problem.message} /> : null;
}

/** `like`: a result of whose requests a simulation is looked for first. */
function Simulations({ items, like }: { items: Item[]; like: Item | null }) {
  const { query, set } = useQuery();
  const chosen = chosenOf(items, query.get("simulation") ?? ofTrace(items, like?.trace_sha256)?.id ?? null);
  const report = useApi("/api/serving-simulations/{id}", chosen === null ? null : { path: { id: chosen.id } });
  return (
    <section aria-labelledby="rows">
      <h2 id="rows">Serving simulation, all rows</h2>
      <ResultPicker
        label="Simulation"
        items={items}
        chosen={chosen?.id ?? ""}
        onChoose={(id) => set({ simulation: id })}
      />
      <When loaded={report} what="The serving simulation">
        {(answer) => <ServingTable report={answer} />}
      </When>
    </section>
  );
}
