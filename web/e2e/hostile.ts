// A trace whose every recorded text tries to be more than text.

import { readFileSync, writeFileSync } from "node:fs";

export const MARK = "KWHOSTILE";
const RUN = "window.__pwned=1";

/** Each is put wherever a recording can hold text. */
export const HOSTILE: readonly string[] = [
  `${MARK} <img src=x onerror="${RUN}">`,
  `${MARK} <script>${RUN}</script>`,
  `${MARK} </script><script>${RUN}</script>`,
  `${MARK} "><svg onload=${RUN}><a href="javascript:${RUN}">`,
  `javascript:${RUN}//${MARK}`,
  `${MARK} \u202egnp.exe\u202c \u2066turned\u2069 \u200bunseen`,
  `${MARK} 👩‍👩‍👧‍👦🏳️‍🌈 é`,
  `${MARK} \u0000\u0007\u001b[31mred\u001b[0m\r`,
  `${MARK} \ud800 lone \udfff`,
  `${MARK} {{7*7}} \${7*7} %3Cscript%3E &lt;b&gt;`,
  `${MARK} __proto__ constructor ../../etc/passwd`,
];

const STABLE = "You answer questions about invoices, politely, in three sentences. ".repeat(40);

/** Four call sites of it: prompts with a clock in front, so that there is something to find in each. */
export function writeHostileTrace(path: string): void {
  const lines: string[] = [];
  for (let n = 0; n < 4 * HOSTILE.length; n += 1) {
    const text = HOSTILE[n % HOSTILE.length] ?? "";
    const site = Math.floor(n / HOSTILE.length);
    lines.push(JSON.stringify(record(n, text, HOSTILE[site] ?? "", n === 5 ? "<b>2 MB</b>".repeat(190_000) : "")));
  }
  writeFileSync(path, `${lines.join("\n")}\n`);
}

function record(n: number, text: string, site: string, long: string): unknown {
  const name = `${text} ${n}`;
  return {
    id: name,
    timestamp: 1_778_570_000 + 60 * n,
    session_id: `${text} session ${n % 5}`,
    metadata: { call_site: site },
    body: {
      model: `${site} model`,
      messages: [
        { role: "system", content: `Time: 2026-05-12 07:${String(n % 60).padStart(2, "0")}:11 ${text}\n${STABLE}${site}` },
        { role: "user", content: `${name} ${long}` },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: `${site} tool`,
            description: text,
            parameters: { type: "object", properties: { [site]: { type: "string" } } },
          },
        },
      ],
    },
    response: { choices: [{ index: 0, message: { role: "assistant", content: text } }] },
  };
}

// Fields of documents that hold what somebody wrote, and not a kind, a digest or a figure.
const FREE = ["about", "where", "what", "next_step", "looked_at", "text", "content", "device", "message", "suggestion", "gap"];

/** Rewrite a document of results: every text that is somebody's own words is hostile now. */
export function makeHostile(path: string): void {
  let n = 0;
  const next = (): string => HOSTILE[(n += 1) % HOSTILE.length] ?? "";
  const changed = JSON.parse(readFileSync(path, "utf-8"), (name, value: unknown) => {
    if (!FREE.includes(name)) return value;
    if (typeof value === "string") return next();
    return Array.isArray(value) && value.every((one) => typeof one === "string") ? value.map(next) : value;
  }) as unknown;
  writeFileSync(path, JSON.stringify(changed));
}
