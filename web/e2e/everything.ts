// Every answer that the API has about a folder.

import type { Server } from "@/e2e/server";

const AT: Record<string, string> = {
  "cache-simulation": "cache-simulations",
  "serving-simulation": "serving-simulations",
  timeline: "timelines",
  task: "tasks",
  verdict: "verdicts",
  replay: "replays",
  comparison: "comparisons",
  canary: "canaries",
  tuning: "tunings",
};

/** All answers, by address. A result that cannot be shown is left out; any other refusal throws. */
export async function everything(server: Server): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const take = async (path: string): Promise<string> => {
    const { status, text } = await server.ask(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    answers.set(path, text);
    return text;
  };
  await take("/api/server");
  await take("/api/overview");
  const { items } = JSON.parse(await take("/api/results?limit=1000")) as {
    items: { id: string; kind: string; problem: string | null }[];
  };
  for (const { id, kind } of items.filter((item) => item.problem === null)) {
    if (kind === "diagnosis") await diagnosis(id, take);
    else await take(`/api/${AT[kind] ?? kind}/${id}`);
    if (kind === "replay") await take(`/api/replays/${id}/requests?limit=1000`);
    if (kind === "comparison") await take(`/api/comparisons/${id}/pairs?limit=1000`);
  }
  return answers;
}

async function diagnosis(id: string, take: (path: string) => Promise<string>): Promise<void> {
  const at = `/api/diagnoses/${id}`;
  const about = JSON.parse(await take(at)) as { has_map: boolean; has_templates: boolean };
  const { call_sites } = JSON.parse(await take(`${at}/call-sites`)) as { call_sites: { id: string }[] };
  if (about.has_templates) {
    for (const site of call_sites) await take(`${at}/templates/${encodeURIComponent(site.id)}`);
  }
  if (!about.has_map) return;
  await take(`${at}/map`);
  const { requests } = JSON.parse(await take(`${at}/requests?limit=1000`)) as { requests: { index: number }[] };
  for (const { index } of requests) await take(`${at}/requests/${index}`);
}
