"use client";

import { Command } from "@/components/Command";
import { Link } from "@/components/Link";
import { type Item, useFolder } from "@/components/Results";
import { Empty, Failure, Loading } from "@/components/States";
import { useApi } from "@/lib/api/use";
import { factor, percent, visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { askFor, type Asked, firstOf, isEvidence, readAsked } from "./address";
import { CanaryView } from "./CanaryView";
import { ComparisonView } from "./ComparisonView";
import { EvidenceList } from "./EvidenceList";
import { ReplayView } from "./ReplayView";
import { TaskView } from "./TaskView";
import { TuningView } from "./TuningView";
import { VerdictView } from "./VerdictView";
import styles from "./Evidence.module.css";

/** What was measured, what was guarded, and what waits for a person. */
export function EvidenceView() {
  const { query, ready } = useQuery();
  const results = useApi("/api/results", ready ? { query: { limit: 1000 } } : null);
  const folder = useFolder();
  if (results.state === "failed") {
    return (
      <>
        <h1>Evidence</h1>
        <Failure what="The list of evidence" problem={results.problem.message} />
      </>
    );
  }
  if (results.state !== "ready") {
    return (
      <>
        <h1>Evidence</h1>
        <Loading what="evidence" />
      </>
    );
  }
  const items = results.answer.items.filter((item) => isEvidence(item.kind));
  const asked = readAsked(query) ?? firstOf(items);
  return (
    <>
      <h1>Evidence</h1>
      {items.length === 0 ? (
        <Nothing folder={folder} />
      ) : (
        <>
          <Answers />
          <div className={styles.columns}>
            <EvidenceList items={items} asked={asked} />
            <div className={styles.detail}>
              {asked === null ? null : <One key={asked.id} asked={asked} item={items.find((item) => item.id === asked.id)} />}
            </div>
          </div>
        </>
      )}
    </>
  );
}

function Nothing({ folder }: { folder: string }) {
  return (
    <Empty what="There is no evidence in this folder." run={`keepwarm compare BEFORE AFTER --out ${folder}/comparison`}>
      <p className="dim">Likewise shown: measured runs, verdicts of the guard, tasks and canaries.</p>
      <Command run={`keepwarm replay TRACE --base-url URL --label before --out ${folder}/before`} />
      <Command run={`keepwarm verify --task task.json … --out ${folder}/verdict`} />
      <Command run={`keepwarm canary run … --out ${folder}/canary`} />
    </Empty>
  );
}

/** Was it measured, and did behaviour change: each answer leads to its evidence. */
function Answers() {
  const { to } = useQuery();
  const overview = useApi("/api/overview", {});
  if (overview.state !== "ready") return null;
  const { measured, behaviour, canary } = overview.answer;
  return (
    <p className={styles.answers}>
      {measured === null ? (
        <span>Nothing was measured.</span>
      ) : (
        <span>
          Measured:{" "}
          <Link href={to(askFor({ kind: "comparison", id: measured.comparison }))}>
            {percent(measured.hit_rate_before)} → {percent(measured.hit_rate_after)} of prompt tokens hit, TTFT
            before ÷ after {factor(measured.ttft_ratio)}
          </Link>
        </span>
      )}
      {behaviour === null ? (
        <span>Nothing was guarded.</span>
      ) : (
        <span>
          Guarded: {behaviour.passed} passed, {behaviour.failed} refused,{" "}
          {behaviour.waiting[0] === undefined ? (
            `${behaviour.needing_approval} wait for approval`
          ) : (
            <Link href={to(askFor({ kind: "verdict", id: behaviour.waiting[0] }))}>
              {behaviour.needing_approval} waiting for approval
            </Link>
          )}
        </span>
      )}
      {canary === null ? null : (
        <span>
          <Link href={to(askFor({ kind: "canary", id: canary }))}>Canary record</Link>
        </span>
      )}
    </p>
  );
}

function One({ asked, item }: { asked: Asked; item: Item | undefined }) {
  if (item?.problem !== null && item?.problem !== undefined) {
    return <Failure what={visible(item.path, 200)} problem={visible(item.problem, 500)} />;
  }
  switch (asked.kind) {
    case "comparison":
      return <ComparisonView id={asked.id} />;
    case "replay":
      return <ReplayView id={asked.id} />;
    case "verdict":
      return <VerdictView id={asked.id} />;
    case "task":
      return <TaskView id={asked.id} />;
    case "canary":
      return <CanaryView id={asked.id} />;
    case "tuning":
      return <TuningView id={asked.id} />;
  }
}

