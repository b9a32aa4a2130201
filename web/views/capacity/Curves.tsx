"use client";

import { useMemo } from "react";
import { Chart, type Mark } from "@/components/Chart";
import { Choice, type Option } from "@/components/Controls";
import { brief } from "@/components/plot/scale";
import { count, percent } from "@/lib/format";
import { useQuery } from "@/lib/url";
import type { Level } from "./levels";
import { chosenPolicies, curvesOf, gibOf, policiesOf, type Simulation, turned } from "./model";
import styles from "./Capacity.module.css";

type Unit = "blocks" | "tokens" | "GiB";

/** Hit rate against cache size, with the levels that no policy can pass and the size of the server at hand. */
export function Curves({ simulation, levels }: { simulation: Simulation; levels: Level[] }) {
  const { query, set } = useQuery();
  const all = policiesOf(simulation);
  const asked = query.get("policies");
  const unit = readUnit(query.get("unit"), simulation);
  const drawn = useMemo(() => curvesOf(simulation, chosenPolicies(policiesOf(simulation), asked)), [simulation, asked]);
  const per = unit === "blocks" ? 1 : unit === "tokens" ? simulation.cache.block_size : (gibOf(simulation, 1) ?? 1);
  const at = useMemo(() => drawn.at_blocks.map((blocks) => blocks * per), [drawn, per]);
  const marks = useMemo(() => marksOf(simulation, levels, per), [simulation, levels, per]);
  const chosen = chosenPolicies(all, asked);
  const units: Option<Unit>[] = [
    { value: "blocks", name: "blocks" },
    { value: "tokens", name: "tokens" },
    ...(simulation.cache.bytes_per_block === null ? [] : [{ value: "GiB" as const, name: "GiB on one GPU" }]),
  ];
  const top = Math.max(...levels.map((level) => level.rate), ...drawn.lines.flatMap((line) => line.values.map((value) => value ?? 0)));
  return (
    <>
      <div className={styles.controls}>
        {drawn.from === "sample" ? null : (
          <fieldset className={styles.policies}>
            <legend>Policies</legend>
            {all.map((policy) => (
              <label key={policy}>
                <input
                  type="checkbox"
                  checked={chosen.includes(policy)}
                  onChange={() => set({ policies: turned(all, chosen, policy) }, "replace")}
                />
                {policy}
              </label>
            ))}
          </fieldset>
        )}
        <Choice legend="Size in" options={units} value={unit} onChange={(next) => set({ unit: next === "blocks" ? null : next }, "replace")} />
      </div>
      <Chart
        label={`Hit rate against cache size, simulated${drawn.from === "rows" ? "; lines only join the sizes that were simulated" : ""}`}
        x={{ name: unit === "GiB" ? "KV cache on one GPU, GiB" : `cache size, ${unit}`, log: true, format: (value) => sizeText(value, unit) }}
        y={{ name: "hit rate", from: 0, to: Math.min(1, top * 1.08 || 1), format: percent }}
        at={at}
        lines={drawn.lines}
        marks={marks}
        height={340}
      />
    </>
  );
}

function readUnit(text: string | null, simulation: Simulation): Unit {
  if (text === "tokens") return "tokens";
  return text === "GiB" && simulation.cache.bytes_per_block !== null ? "GiB" : "blocks";
}

function sizeText(value: number, unit: Unit): string {
  if (unit === "GiB") return `${Number(value.toPrecision(3))} GiB`;
  return unit === "tokens" ? `${brief(value)} tokens` : count(value);
}

function marksOf(simulation: Simulation, levels: Level[], per: number): Mark[] {
  const marks: Mark[] = levels.map((level) => ({ name: `${level.name} ${percent(level.rate)}`, y: level.rate }));
  const { server } = simulation;
  if (server !== null) {
    marks.push({ name: `${server.gpu}: ${count(server.usable_blocks)} usable blocks, estimated`, x: server.usable_blocks * per });
  }
  return marks;
}
