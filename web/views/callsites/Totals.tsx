"use client";

import { FateBar, FateLegend } from "@/components/Fates";
import { OriginTag } from "@/components/Figure";
import { Link } from "@/components/Link";
import { atRequests } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { TWO_WAYS_TO_ADD } from "@/lib/fixed";
import { count, counted, percent, tokens, visible } from "@/lib/format";
import styles from "@/views/callsites/CallSites.module.css";

/** All requests of the diagnosis together. */
export function Totals({ answer }: { answer: Schema<"DiagnosisAnswer"> }) {
  const { diagnosis } = answer;
  const { input, cache, encoding } = diagnosis;
  return (
    <section className={styles.totals} aria-label="All requests">
      <p>
        <Link href={atRequests(answer.id)}>{counted(input.requests, "request")}</Link> of{" "}
        <code>{visible(input.path, 200)}</code>, {tokens(diagnosis.tokens.prompt)}: hit rate{" "}
        <Link href={atRequests(answer.id, { by: "hit_rate" })}>
          <strong>{percent(diagnosis.hit_rate)}</strong>
        </Link>
        ,{" "}
        <Link href={atRequests(answer.id, { by: "lost" })}>
          <strong>{percent(diagnosis.hit_rate_if_fixed)}</strong>
        </Link>{" "}
        if every finding were fixed <OriginTag origin="simulated" />
        {diagnosis.findings.length < 2 ? null : <span className="dim"> {TWO_WAYS_TO_ADD}</span>}
      </p>
      <FateBar tokens={diagnosis.tokens} label="Tokens of all requests" />
      <FateLegend tokens={diagnosis.tokens} to={(fate) => atRequests(answer.id, { fate })} />
      <p className="dim">
        Blocks of {counted(cache.block_size, "token")},{" "}
        {cache.capacity_blocks === null ? "a cache without bound" : counted(cache.capacity_blocks, "usable block")}.
        {input.skipped.length === 0 ? null : <> {counted(input.skipped.length, "line")} could not be read.</>}
        {encoding.note === "" ? null : <> {sentence(visible(encoding.note))}</>}
        {answer.saved_masked ? " Values were masked when it was written: diagnose with --reveal to keep them." : null}
      </p>
      {input.skipped.length === 0 ? null : (
        <details>
          <summary>Lines that could not be read</summary>
          <ul>
            {input.skipped.slice(0, 100).map((skipped) => (
              <li key={skipped.line}>
                line {count(skipped.line)}: {visible(skipped.reason, 300)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
