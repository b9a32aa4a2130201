// The command that takes an approval into account: verify again, with the file that holds it.

import type { Schema } from "@/lib/api/client";

/** A word of a shell command; quoted where it must be. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** `keepwarm verify` as it was called, with the approvals. Folders are not recorded, so REPO and GOLDEN are to be put in. */
export function verifyCommand(verdict: Schema<"Verdict">, approvals: string): string {
  const { inputs, options } = verdict;
  const parts: [string, string | number | null | undefined][] = [
    ["--repo", "REPO"],
    ["--base", verdict.base],
    ["--head", verdict.head],
    ["--task", inputs.task.name],
    ["--before", inputs.before?.name],
    ["--after", inputs.after?.name],
    ["--golden", inputs.golden === null ? null : "GOLDEN"],
    ["--tests", inputs.tests],
    ["--tokenizer", options.tokenizer],
    ["--chat-template", options.chat_template],
    ["--block-size", options.block_size],
    ["--capacity-blocks", options.capacity_blocks],
    ["--approve", approvals],
  ];
  const given = parts.filter(([, value]) => value !== null && value !== undefined);
  return `keepwarm verify ${given.map(([name, value]) => `${name} ${quoted(String(value))}`).join(" ")}`;
}
