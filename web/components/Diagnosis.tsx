"use client";

import type { ReactNode } from "react";
import { Select } from "@/components/Controls";
import { Empty, Failure, Loading } from "@/components/States";
import { visible } from "@/lib/format";
import { useDiagnosisId, useFrame } from "@/lib/frame";
import { useQuery } from "@/lib/url";

/** The command that puts a diagnosis into the served folder. */
export function useDiagnoseCommand(): string {
  const { server } = useFrame();
  const folder = server.state === "ready" ? server.answer.name : "DIR";
  return `keepwarm diagnose YOUR-TRACE.jsonl --out ${folder}/diagnosis`;
}

/** Which diagnosis is looked at, where the folder holds several. */
export function DiagnosisPicker() {
  const { diagnoses } = useFrame();
  const chosen = useDiagnosisId();
  const { set } = useQuery();
  if (diagnoses.state !== "ready" || diagnoses.answer.items.length < 2) return null;
  const options = diagnoses.answer.items.map((item) => ({
    value: item.id,
    name: visible(`${item.title} (${item.path})${item.problem === null ? "" : ", cannot be read"}`, 120),
  }));
  return (
    <Select
      label="Diagnosis"
      labelHidden
      options={options}
      value={chosen ?? options[0]?.value ?? ""}
      // Call sites and requests of one diagnosis are none of another: only the choice itself stays.
      onChange={(id) => {
        const gone = Object.fromEntries(
          [...new URLSearchParams(window.location.search).keys()].map((name) => [name, null]),
        );
        set({ ...gone, diagnosis: id });
      }}
    />
  );
}

/** The chosen diagnosis by its id; while there is none, why, and the command that makes one. */
export function WithDiagnosis({ children }: { children: (id: string) => ReactNode }) {
  const { diagnoses } = useFrame();
  const id = useDiagnosisId();
  const run = useDiagnoseCommand();
  if (id !== null) return <>{children(id)}</>;
  if (diagnoses.state === "failed") return <Failure what="The diagnoses" problem={diagnoses.problem.message} />;
  if (diagnoses.state !== "ready") return <Loading what="diagnoses" />;
  const broken = diagnoses.answer.items.find((item) => item.problem !== null);
  if (broken !== undefined) return <Failure what="The diagnosis" problem={visible(broken.problem ?? "")} />;
  return <Empty what="There is no diagnosis in this folder." run={run} />;
}
