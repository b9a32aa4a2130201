"use client";

import { WithDiagnosis, useDiagnoseCommand } from "@/components/Diagnosis";
import { RequestDetail } from "@/components/RequestDetail";
import { Empty, When } from "@/components/States";
import { useApi } from "@/lib/api/use";
import { useQuery } from "@/lib/url";
import { Answers } from "@/views/callsites/Answers";
import { Leaderboard } from "@/views/callsites/Leaderboard";
import { Requests } from "@/views/callsites/Requests";
import { Totals } from "@/views/callsites/Totals";

/** What is lost, where and why, and what came of a fix; then the call sites, and the requests behind them. */
export function CallSitesView() {
  const { query, ready } = useQuery();
  const overview = useApi("/api/overview", ready ? { query: { diagnosis: query.get("diagnosis") } } : null);
  return (
    <>
      <h1>Call sites</h1>
      <When loaded={overview} what="the overview">
        {(answer) => <Answers overview={answer} />}
      </When>
      {overview.state === "ready" && overview.answer.diagnosis === null ? (
        <NoDiagnosis />
      ) : (
        <WithDiagnosis>{(id) => <Lost key={id} diagnosis={id} />}</WithDiagnosis>
      )}
    </>
  );
}

function NoDiagnosis() {
  return <Empty what="There is no diagnosis in this folder." run={useDiagnoseCommand()} />;
}

function Lost({ diagnosis }: { diagnosis: string }) {
  const { query, set } = useQuery();
  const sites = useApi("/api/diagnoses/{id}/call-sites", { path: { id: diagnosis } });
  const whole = useApi("/api/diagnoses/{id}", { path: { id: diagnosis } });
  const request = chosenRequest(query.get("request"));
  return (
    <>
      <When loaded={whole} what="the diagnosis">
        {(answer) => <Totals answer={answer} />}
      </When>
      <When loaded={sites} what="the call sites">
        {(answer) => <Leaderboard diagnosis={diagnosis} sites={answer.call_sites} />}
      </When>
      {query.get("requests") === null || sites.state !== "ready" ? null : (
        <Requests diagnosis={diagnosis} sites={sites.answer.call_sites} />
      )}
      {request === null ? null : (
        <RequestDetail
          diagnosis={diagnosis}
          index={request}
          onClose={() => set({ request: null })}
          onOpen={(index) => set({ request: String(index) })}
        />
      )}
    </>
  );
}

function chosenRequest(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
