"use client";

import { Link } from "@/components/Link";
import { type Column, DataTable } from "@/components/DataTable";
import { count, factor, percent, seconds, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import type { RunFigures, ServingRow } from "./figures";
import styles from "./Sessions.module.css";

export interface ComparedRun {
  name: string;
  figures: RunFigures;
  /** The run's own row of a serving simulation in the folder, and where that is shown. */
  row: { row: ServingRow; simulation: string } | null;
}

interface Line {
  name: string;
  of: (run: ComparedRun) => number | null;
  shown: (value: number) => string;
  ratio: boolean;
}

const LINES: readonly Line[] = [
  { name: "Mean session completion", of: (run) => run.figures.completion_s, shown: seconds, ratio: true },
  { name: "Request latency, P50", of: (run) => run.figures.latency_p50_s, shown: seconds, ratio: true },
  { name: "Request latency, P99", of: (run) => run.figures.latency_p99_s, shown: seconds, ratio: true },
  { name: "All sessions done after", of: (run) => run.figures.makespan_s, shown: seconds, ratio: true },
  { name: "Hit rate", of: (run) => run.figures.hit_rate, shown: percent, ratio: false },
  { name: "Evicted and computed again", of: (run) => run.figures.recomputed_tokens, shown: (value) => `${count(value)} tokens`, ratio: true },
  { name: "Read back from host memory", of: (run) => run.figures.reloaded_tokens, shown: (value) => `${count(value)} tokens`, ratio: false },
  { name: "Preemptions", of: (run) => run.figures.preemptions, shown: count, ratio: false },
  { name: "Evicted blocks", of: (run) => run.row?.row.evicted_blocks ?? null, shown: count, ratio: true },
  { name: "Slowdown, P99 of sessions", of: (run) => run.row?.row.slowdown_p99 ?? null, shown: factor, ratio: true },
  { name: "Token goodput", of: (run) => run.row?.row.token_goodput ?? null, shown: (value) => `${count(value)} tokens/s`, ratio: false },
];

/** The two runs in figures. */
export function Comparison({ runs }: { runs: ComparedRun[] }) {
  const { to } = useQuery();
  const shown = LINES.filter((line) => runs.some((run) => (line.of(run) ?? 0) !== 0));
  const columns: Column<Line>[] = [
    { id: "figure", name: "figure", head: true, cell: (line) => line.name },
    ...runs.map((run, index) => ({
      id: `run${index}`,
      name: visible(run.name, 80),
      figure: true,
      cell: (line: Line) => {
        const value = line.of(run);
        return value === null ? <span className="dim">not in the folder</span> : line.shown(value);
      },
    })),
  ];
  if (runs.length === 2) {
    columns.push({ id: "ratio", name: "first ÷ second", figure: true, cell: (line) => ratio(line, runs) });
  }
  return (
    <>
      <p className={styles.controls}>
        {runs.map((run, index) =>
          run.row === null ? null : (
            <Link key={index} href={`${to({ simulation: run.row.simulation })}#rows`}>
              row of {visible(run.name, 80)}
            </Link>
          ),
        )}
      </p>
      <DataTable
        caption="Figures of the runs, over all their requests"
        captionHidden
        columns={columns}
        rows={shown}
        rowKey={(line) => line.name}
      />
    </>
  );
}

function ratio(line: Line, runs: ComparedRun[]): string {
  const [first, second] = runs.map((run) => line.of(run));
  if (!line.ratio || first === null || second === null || !first || !second) return "";
  return factor(first / second);
}
