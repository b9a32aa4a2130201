// A cache simulation as lines, levels and tables. All of it simulated, but for what is called recorded.

import type { Schema } from "@/lib/api/client";
import type { Line } from "@/lib/readout";

export type Simulation = Schema<"Simulation">;
export type Row = Schema<"SimulationRow">;

/** The policies in the document, each once, in its order. */
export function policiesOf(simulation: Simulation): string[] {
  const named = [
    ...(simulation.curve?.policies.map((curve) => curve.policy) ?? []),
    ...simulation.rows.map((row) => row.policy),
  ];
  return [...new Set(named)];
}

/** Those that the address chooses; all where it names none that there is. */
export function chosenPolicies(all: string[], asked: string | null): string[] {
  const named = (asked ?? "").split(",");
  const chosen = all.filter((policy) => named.includes(policy));
  return chosen.length === 0 ? all : chosen;
}

/** The address of a choice with `policy` turned on or off; null: all, or none would be left. */
export function turned(all: string[], chosen: string[], policy: string): string | null {
  const next = all.filter((name) => (name === policy ? !chosen.includes(name) : chosen.includes(name)));
  return next.length === 0 || next.length === all.length ? null : next.join(",");
}

const COLOURS = ["--fate-diverged", "--fate-hit", "--section-system", "--section-tools", "--section-history", "--fate-evicted"];
const DASHES: (readonly number[] | null)[] = [null, [10, 3], [6, 3, 2, 3], [4, 3]];

/** How a policy is drawn, by its place among all: the same whichever others are chosen. */
export function styleOf(all: string[], policy: string): Pick<Line, "colour" | "dash"> {
  if (policy === "belady") return { colour: "--text", dash: [2, 4] };
  const place = all.filter((name) => name !== "belady").indexOf(policy);
  const dash = DASHES[Math.floor(place / 2) % DASHES.length] ?? null;
  return { colour: COLOURS[place % COLOURS.length] ?? "--text", ...(dash === null ? {} : { dash }) };
}

export interface Curves {
  at_blocks: number[];
  lines: Line[];
  /** Where the lines are from. */
  from: "curve" | "rows" | "sample";
}

/** Hit rate against capacity: the curve where there is one, else a sample's estimate, else the rows. */
export function curvesOf(simulation: Simulation, chosen: string[]): Curves {
  const all = policiesOf(simulation);
  if (simulation.curve !== null) {
    const fixed = simulation.if_fixed?.curve ?? null;
    const curves = simulation.curve.policies.filter((curve) => chosen.includes(curve.policy));
    const after = fixed?.policies.filter((curve) => chosen.includes(curve.policy)) ?? [];
    const at = union([...curves, ...after].flatMap((curve) => curve.points.map((point) => point.capacity_blocks)));
    return {
      at_blocks: at,
      from: "curve",
      lines: [
        ...curves.map((curve) => ({ name: curve.policy, ...styleOf(all, curve.policy), values: along(at, curve.points) })),
        ...after.map((curve) => ({
          name: `${curve.policy}, after the fix`,
          colour: styleOf(all, curve.policy).colour,
          dash: curve.policy === "belady" ? [8, 3, 2, 3] : [5, 4],
          values: along(at, curve.points),
        })),
      ],
    };
  }
  if (simulation.sampled_curve !== null) {
    const { points } = simulation.sampled_curve;
    const at = points.map((point) => point.capacity_blocks);
    const edge = { colour: "--fate-diverged", dash: [2, 3] };
    return {
      at_blocks: at,
      from: "sample",
      lines: [
        { name: "lru, estimated", colour: "--fate-diverged", values: points.map((point) => point.hit_rate) },
        { name: "least, with 95% confidence", ...edge, values: points.map((point) => Math.max(0, point.hit_rate - point.error)) },
        { name: "most", ...edge, values: points.map((point) => Math.min(1, point.hit_rate + point.error)) },
      ],
    };
  }
  const rows = simulation.rows.filter((row) => chosen.includes(row.policy));
  const at = union(rows.map((row) => row.capacity_blocks));
  return {
    at_blocks: at,
    from: "rows",
    lines: chosen.map((policy) => ({
      name: policy,
      ...styleOf(all, policy),
      points: true,
      values: along(at, rows.filter((row) => row.policy === policy)),
    })),
  };
}

function union(capacities: number[]): number[] {
  return [...new Set(capacities)].sort((a, b) => a - b);
}

function along(at: number[], points: { capacity_blocks: number; hit_rate: number }[]): (number | null)[] {
  const rates = new Map(points.map((point) => [point.capacity_blocks, point.hit_rate]));
  return at.map((capacity) => rates.get(capacity) ?? null);
}

export interface Sizes {
  policy: string;
  sizes: Schema<"SizeForCeiling">[];
}

/** The capacities that the chosen policies need for shares of the ceiling. */
export function sizesOf(simulation: Simulation, chosen: string[]): Sizes[] {
  return (simulation.curve?.policies ?? [])
    .filter((curve) => chosen.includes(curve.policy) && curve.sizes.length > 0)
    .map(({ policy, sizes }) => ({ policy, sizes }));
}

/** GiB on one GPU for so many blocks; null where the model is not known. */
export function gibOf(simulation: Simulation, blocks: number): number | null {
  const bytes = simulation.cache.bytes_per_block;
  return bytes === null ? null : (blocks * bytes) / 2 ** 30;
}

export interface RecordedHits {
  row: Row;
  recorded_rate: number;
  simulated_rate: number;
  residual_points: number;
}

/** Rows whose trace recorded what the server hit, with recorded less simulated. */
export function recordedOf(rows: Row[]): RecordedHits[] {
  return rows.flatMap((row) => {
    const hits = row.recorded_hits;
    if (hits === null || hits.query_tokens === 0) return [];
    return [
      {
        row,
        recorded_rate: hits.recorded_tokens / hits.query_tokens,
        simulated_rate: hits.simulated_tokens / hits.query_tokens,
        residual_points: (100 * hits.residual_tokens) / hits.query_tokens,
      },
    ];
  });
}

export interface Bin {
  from_blocks: number;
  to_blocks: number;
  blocks: number;
}

/** The bins of a row's evict→reuse distances, empty ones too; null: the document has quantiles only. */
export function binsOf(row: Row): Bin[] | null {
  const histogram = row.reuse_after_eviction_histogram;
  if (histogram === null) return null;
  return histogram.up_to_blocks.map((to_blocks, index) => ({
    from_blocks: (histogram.up_to_blocks[index - 1] ?? 0) + 1,
    to_blocks,
    blocks: histogram.blocks[index] ?? 0,
  }));
}
