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
  const sample = diagnosis.sample ?? null;
  return (
    <section className={styles.totals} aria-label="All requests">
      <p>
        <Link href={atRequests(answer.id)}>{counted(input.requests, "request")}</Link> of{" "}
        <code>{visible(input.path, 200)}</code>, {tokens(diagnosis.tokens.prompt)}: hit rate{" "}
        <Link href={atRequests(answer.id, { by: "hit_rate" })}>
          <strong>{percent(diagnosis.hit_rate)}{off(sample?.hit_rate_error)}</strong>
        </Link>
        ,{" "}
        <Link href={atRequests(answer.id, { by: "lost" })}>
          <strong>{percent(diagnosis.hit_rate_if_fixed)}{off(sample?.hit_rate_if_fixed_error)}</strong>
        </Link>{" "}
        if every finding were fixed <OriginTag origin="simulated" />
        {diagnosis.findings.length < 2 ? null : <span className="dim"> {TWO_WAYS_TO_ADD}</span>}
      </p>
      {sample === null ? null : <SampleNote sample={sample} requests={input.requests} />}
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

/** What the figures of a sample rest on. */
function SampleNote({ sample, requests }: { sample: Schema<"SampleInfo">; requests: number }) {
  return (
    <p role="note">
      A sample: {count(sample.sessions)} of {counted(sample.total_sessions, "session")} and {count(sample.requests)} of{" "}
      {counted(requests, "request")} were diagnosed. Figures are estimates of the whole trace, ± is their{" "}
      {Math.round(100 * sample.confidence)}% interval; requests below are those of the sample, and{" "}
      {count(sample.context_requests)} beside it that were read for what they put into the cache. A cause that concerns
      fewer than {counted(sample.seen_from_sessions, "session")} may be missed.
    </p>
  );
}

/** `` ± 1.3 points``, rounded up; nothing where a figure is exact. */
function off(error: number | undefined): string {
  return error === undefined || error === 0 ? "" : ` ± ${(Math.ceil(1000 * error) / 10).toFixed(1)} points`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
