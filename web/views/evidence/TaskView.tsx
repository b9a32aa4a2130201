"use client";

import { Command } from "@/components/Command";
import { CauseChip, OwnerChip } from "@/components/Chips";
import { type Column, DataTable } from "@/components/DataTable";
import { OriginTag } from "@/components/Figure";
import { When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { counted, percent, visible } from "@/lib/format";
import { Facts } from "./Facts";
import { short } from "./figures";
import { TextBox } from "./TextBox";

type Location = Schema<"Location">;

const COLUMNS: readonly Column<Location>[] = [
  { id: "file", name: "file", head: true, cell: (row) => <code>{visible(row.file, 200)}</code> },
  { id: "lines", name: "lines", figure: true, cell: (row) => (row.first_line === row.last_line ? row.first_line : `${row.first_line}–${row.last_line}`) },
  { id: "confidence", name: "confidence", figure: true, cell: (row) => percent(row.confidence) },
  { id: "why", name: "why", cell: (row) => visible(row.why, 500) },
];

/** A task of repair: what is wrong, where, what may change and what must be reached. */
export function TaskView({ id }: { id: string }) {
  const loaded = useApi("/api/tasks/{id}", { path: { id } });
  return (
    <When loaded={loaded} what="The task">
      {({ task }) => <TaskDetail task={task} />}
    </When>
  );
}

function TaskDetail({ task }: { task: Schema<"Task"> }) {
  const { finding, target, shown, preserve } = task;
  return (
    <>
      <h2>
        Task {visible(task.id, 80)}: finding {visible(finding.id, 40)}
      </h2>
      <p>{visible(finding.suggestion, 2000)}</p>
      <Facts
        facts={[
          ["cause", <span key="cause"><CauseChip cause={finding.cause} /> <OwnerChip owner={finding.owner} /></span>],
          ["call site", visible(finding.call_site_name || finding.call_site, 200)],
          ["slot", finding.path === null ? null : <code key="path">{visible(finding.path, 200)}</code>],
          ["recoverable", <span key="recoverable">{counted(finding.recoverable_tokens, "token")} in {counted(finding.requests, "request")} <OriginTag origin="simulated" /></span>],
          ["hit rate to reach", <span key="target">{percent(target.hit_rate_required)} at the call site; {percent(target.hit_rate_before)} as recorded, {percent(target.hit_rate_repaired)} repaired <OriginTag origin="simulated" /></span>],
          ["allowed files", task.allowed_files.map((file) => visible(file, 200)).join(", ") || "none"],
          ["moves", task.moves_allowed ? "allowed within a prompt" : "not allowed"],
          ["must stay", `${counted(preserve.static_fragments, "stable fragment")}, ${counted(preserve.dynamic_paths.length, "varying path")}, ${counted(preserve.tools.length, "tool")}`],
          ["base commit", task.base_commit === null ? null : <code key="base">{visible(task.base_commit, 80)}</code>],
          ["trace", <code key="trace" title={task.trace_sha256}>{short(task.trace_sha256)}</code>],
        ]}
      />
      <h3>The break, recorded values as placeholders</h3>
      <TextBox label="The break">
        {visible(shown.before)}
        <ins>{shown.values.map((value) => visible(value, 500)).join(" | ")}</ins>
        {visible(shown.after)}
      </TextBox>
      <h3>Where it is built</h3>
      {task.locations.length === 0 ? (
        <p>Not located: {visible(task.not_located ?? "no reason given", 1000)}</p>
      ) : (
        <DataTable caption="Places in the source" captionHidden columns={COLUMNS} rows={task.locations} rowKey={(row) => `${row.file}:${row.first_line}`} />
      )}
      {task.declared.length === 0 ? null : (
        <>
          <h3>Changes of prompts that are meant</h3>
          <ul>
            {task.declared.map((change) => (
              <li key={change.kind + change.text}>
                {change.kind}: “{visible(change.text, 500)}” ({visible(change.reason, 500)})
              </li>
            ))}
          </ul>
        </>
      )}
      {task.verify.length === 0 ? null : (
        <>
          <h3>How it is checked</h3>
          {task.verify.map((run) => (
            <Command key={run} run={visible(run, 2000)} />
          ))}
        </>
      )}
    </>
  );
}
