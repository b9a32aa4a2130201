"use client";

import { Select } from "@/components/Controls";
import { useDiagnoseCommand, WithDiagnosis } from "@/components/Diagnosis";
import { RequestDetail } from "@/components/RequestDetail";
import { Empty, When } from "@/components/States";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { visible } from "@/lib/format";
import { useQuery } from "@/lib/url";
import { Workbench } from "@/views/diff/Workbench";

/** What the prompts of a call site share and where they vary; laid out otherwise, what that would give. */
export function DiffView() {
  return (
    <>
      <h1>Prompt diff</h1>
      <WithDiagnosis>{(id) => <Diff key={id} diagnosis={id} />}</WithDiagnosis>
    </>
  );
}

function Diff({ diagnosis }: { diagnosis: string }) {
  const path = { path: { id: diagnosis } };
  const whole = useApi("/api/diagnoses/{id}", path);
  const sites = useApi("/api/diagnoses/{id}/call-sites", path);
  const run = useDiagnoseCommand();
  return (
    <When loaded={whole} what="the diagnosis">
      {(answer) =>
        answer.has_templates ? (
          <When loaded={sites} what="the call sites">
            {({ call_sites }) => <Site diagnosis={answer} sites={call_sites} />}
          </When>
        ) : (
          <Empty what="This diagnosis was kept without the templates of its prompts: diagnose again with --out." run={run} />
        )
      }
    </When>
  );
}

function Site({
  diagnosis,
  sites,
}: {
  diagnosis: Schema<"DiagnosisAnswer">;
  sites: readonly Schema<"CallSiteRow">[];
}) {
  const { query, set } = useQuery();
  const chosen = query.get("site") ?? sites[0]?.id ?? null;
  const template = useApi(
    "/api/diagnoses/{id}/templates/{call_site}",
    chosen === null ? null : { path: { id: diagnosis.id, call_site: chosen } },
  );
  const request = query.get("request");
  if (chosen === null) return <Empty what="This diagnosis has no call sites." />;
  const options = sites.map((site) => ({ value: site.id, name: visible(`${site.id}: ${site.name}`, 90) }));
  if (!options.some((option) => option.value === chosen)) options.unshift({ value: chosen, name: visible(chosen, 90) });
  return (
    <>
      <Select
        label="Call site"
        options={options}
        value={chosen}
        onChange={(site) => set({ site, fixes: null, moves: null, request: null })}
      />
      <When loaded={template} what="the template">
        {(answer) => <Workbench key={answer.call_site} diagnosis={diagnosis} template={answer} />}
      </When>
      {request !== null && /^\d{1,10}$/.test(request) ? (
        <RequestDetail
          diagnosis={diagnosis.id}
          index={Number(request)}
          onClose={() => set({ request: null })}
          onOpen={(index) => set({ request: String(index) })}
        />
      ) : null}
    </>
  );
}
