"use client";

import type { ReactNode } from "react";
import { CauseChip, OwnerChip } from "@/components/Chips";
import { Command } from "@/components/Command";
import { Figure } from "@/components/Figure";
import { Link } from "@/components/Link";
import { atDiff, atEvidence, atMap, atRequests, atSite } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { count, counted, factor, percent, tokens, visible } from "@/lib/format";
import { intervalOf, outcomes } from "@/views/callsites/answers";
import styles from "@/views/callsites/CallSites.module.css";

/** The questions that people come with, and their answers. */
export function Answers({ overview }: { overview: Schema<"Overview"> }) {
  const { diagnosis, worst } = overview;
  return (
    <div className={styles.answers}>
      {diagnosis === null ? null : worst === null ? (
        <Question asks="Which call site loses most?">
          <p>None: no call site of this diagnosis loses anything that could have been served.</p>
        </Question>
      ) : (
        <>
          <Loss diagnosis={diagnosis} worst={worst} />
          <Fix diagnosis={diagnosis} worst={worst} />
        </>
      )}
      <Measured measured={overview.measured} />
      <Behaviour behaviour={overview.behaviour} canary={overview.canary} />
    </div>
  );
}

function Question({ asks, children }: { asks: string; children: ReactNode }) {
  return (
    <section className={styles.question} aria-label={asks}>
      <h2>{asks}</h2>
      {children}
    </section>
  );
}

function Loss({ diagnosis, worst }: { diagnosis: string; worst: Schema<"WorstLoss"> }) {
  return (
    <Question asks="Which call site loses most, where and why?">
      <p className={styles.site}>
        <Link href={atSite(diagnosis, worst.call_site)}>{visible(worst.call_site_name, 160)}</Link>
      </p>
      <Figure
        label="Lost"
        value={count(worst.lost_tokens)}
        unit="tokens"
        origin="simulated"
        href={atRequests(diagnosis, { site: worst.call_site, by: "lost" })}
      />
      {worst.cause === null ? (
        <p>No finding there gives anything back.</p>
      ) : (
        <p>
          {worst.token_offset === null ? null : (
            <>
              At <a href={atMap(diagnosis, worst.call_site)}>token {count(worst.token_offset)}</a>,{" "}
            </>
          )}
          {worst.path === null ? null : (
            <>
              in <code>{visible(worst.path, 200)}</code>:{" "}
            </>
          )}
          <CauseChip cause={worst.cause} /> {worst.owner === null ? null : <OwnerChip owner={worst.owner} />}
        </p>
      )}
    </Question>
  );
}

function Fix({ diagnosis, worst }: { diagnosis: string; worst: Schema<"WorstLoss"> }) {
  return (
    <Question asks="What would a fix give?">
      <Figure
        label="Hit rate there, now → if fixed"
        value={`${percent(worst.hit_rate)} → ${percent(worst.hit_rate_if_fixed)}`}
        origin="simulated"
        href={atSite(diagnosis, worst.call_site)}
      />
      {worst.recoverable_tokens === null ? (
        <p>Nothing that a finding names would come back.</p>
      ) : (
        <p>
          <Link href={atRequests(diagnosis, { site: worst.call_site, cause: worst.cause })}>
            <strong>{tokens(worst.recoverable_tokens)}</strong>
          </Link>{" "}
          come back by its first finding.{" "}
          <a href={atDiff(diagnosis, worst.call_site)}>Try it in the prompt diff</a>.
        </p>
      )}
      {worst.suggestion === null ? null : <p className={styles.suggestion}>{visible(worst.suggestion, 600)}</p>}
    </Question>
  );
}

function Measured({ measured }: { measured: Schema<"MeasuredGain"> | null }) {
  if (measured === null) {
    return (
      <Question asks="Was it measured?">
        <p>
          <strong>No.</strong> No comparison of two measured runs is in this folder. With vLLM running, replay the
          requests before and after the fix, then:
        </p>
        <Command run="keepwarm compare BEFORE AFTER --out DIR/comparison" />
      </Question>
    );
  }
  const at = atEvidence("comparison", measured.comparison);
  return (
    <Question asks="Was it measured?">
      <Figure
        label="Hit rate, before → after"
        value={`${percent(measured.hit_rate_before)} → ${percent(measured.hit_rate_after)}`}
        origin="measured"
        href={at}
      />
      <p>
        Median TTFT before ÷ after: <a href={at}>{factor(measured.ttft_ratio)}</a>
        {intervalOf(measured)}; above 1 is faster now.
      </p>
      <p>
        {measured.same_trace
          ? "Measured with the diagnosed requests."
          : "Measured with other requests than the diagnosed ones."}
        {measured.complete ? null : <strong> Not all pairs are complete.</strong>}
      </p>
    </Question>
  );
}

function Behaviour({ behaviour, canary }: { behaviour: Schema<"Behaviour"> | null; canary: string | null }) {
  return (
    <Question asks="Did behaviour change?">
      {behaviour === null ? (
        <>
          <p>
            <strong>Not checked.</strong> No verdict of the guard is in this folder. To have one:
          </p>
          <Command run="keepwarm verify --repo CHECKOUT --base REV --head REV --task task.json --out DIR/verdict" />
        </>
      ) : (
        <>
          <Figure
            label="Checked by the guard"
            value={count(behaviour.passed + behaviour.failed + behaviour.needing_approval)}
            unit="verdicts"
            href={behaviour.latest === null ? null : atEvidence("verdict", behaviour.latest)}
          >
            {outcomes(behaviour)}
          </Figure>
          {behaviour.waiting.length === 0 ? (
            <p>No changed output waits for an approval.</p>
          ) : (
            <p>
              <strong>{counted(behaviour.waiting.length, "verdict")} waiting for an approval:</strong>{" "}
              {behaviour.waiting.slice(0, 5).map((id, place) => (
                <span key={id}>
                  {place === 0 ? null : ", "}
                  <a href={atEvidence("verdict", id)}>look at what changed{place === 0 ? "" : ` (${place + 1})`}</a>
                </span>
              ))}
            </p>
          )}
        </>
      )}
      {canary === null ? null : (
        <p>
          A <a href={atEvidence("canary", canary)}>canary’s record</a> is there as well.
        </p>
      )}
    </Question>
  );
}
