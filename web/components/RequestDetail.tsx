"use client";

import type { ReactNode } from "react";
import { CauseChip, OwnerChip } from "@/components/Chips";
import { FateBar, FateLegend } from "@/components/Fates";
import { OriginTag } from "@/components/Figure";
import { FindingCard } from "@/components/FindingCard";
import { Panel } from "@/components/Panel";
import { When } from "@/components/States";
import { Tokens } from "@/components/Tokens";
import { atDiff, atMap, atRequests, atSite } from "@/lib/address";
import type { Schema } from "@/lib/api/client";
import { useApi } from "@/lib/api/use";
import { count, moment, percent, tokens, visible } from "@/lib/format";
import styles from "@/components/RequestDetail.module.css";

/** One request in a panel: what became of its tokens, and the tokens around its break. `onOpen` shows another. */
export function RequestDetail({
  diagnosis,
  index,
  onClose,
  onOpen,
}: {
  diagnosis: string;
  index: number;
  onClose: () => void;
  onOpen?: (index: number) => void;
}) {
  const loaded = useApi("/api/diagnoses/{id}/requests/{index}", { path: { id: diagnosis, index } });
  const title = loaded.state === "ready" ? `Request ${visible(loaded.answer.request.id, 120)}` : "Request";
  return (
    <Panel title={title} onClose={onClose}>
      <When loaded={loaded} what="the request">
        {(answer) => <Detail diagnosis={diagnosis} answer={answer} onOpen={onOpen} />}
      </When>
    </Panel>
  );
}

function Detail({
  diagnosis,
  answer,
  onOpen,
}: {
  diagnosis: string;
  answer: Schema<"RequestAnswer">;
  onOpen: ((index: number) => void) | undefined;
}) {
  const { request, findings } = answer;
  const hits = request.tokens.prompt === 0 ? 0 : request.tokens.hit / request.tokens.prompt;
  return (
    <>
      <FateBar tokens={request.tokens} label={`Tokens of ${visible(request.id, 80)}`} />
      <div className={styles.legend}>
        <FateLegend tokens={request.tokens} />
      </div>
      <dl className={styles.facts}>
        <Fact name="Prompt">{tokens(request.tokens.prompt)}</Fact>
        <Fact name="Hit rate">
          {percent(hits)} <OriginTag origin="simulated" />
          {request.cached_tokens === null ? null : (
            <>
              {" "}
              · {tokens(request.cached_tokens)} cached <OriginTag origin="recorded" />
            </>
          )}
        </Fact>
        <Fact name="Call site">
          <a href={atSite(diagnosis, request.call_site)}>{visible(request.call_site, 80)}</a> ·{" "}
          <a href={atDiff(diagnosis, request.call_site)}>prompt diff</a> ·{" "}
          <a href={atMap(diagnosis, request.call_site, request.index)}>break map</a>
        </Fact>
        <Fact name="Session">
          <a href={atRequests(diagnosis, { session: request.session })}>{visible(request.session, 120)}</a>
        </Fact>
        <Fact name="Model">{visible(request.model, 120)}</Fact>
        <Fact name="Recorded">
          {request.time_s === null ? null : <>{moment(request.time_s)}, </>}line {count(request.line)} of the trace
        </Fact>
      </dl>
      <Break answer={answer} onOpen={onOpen} />
      {findings.length === 0 ? null : (
        <>
          <h3>Findings that meet this request</h3>
          {findings.map((finding) => (
            <FindingCard key={finding.id} finding={finding} diagnosis={diagnosis} />
          ))}
        </>
      )}
    </>
  );
}

function Break({
  answer,
  onOpen,
}: {
  answer: Schema<"RequestAnswer">;
  onOpen: ((index: number) => void) | undefined;
}) {
  const { request, baseline, findings } = answer;
  if (request.break_token === null) {
    return (
      <>
        <h3>No break</h3>
        <p>
          {request.tokens.hit === 0
            ? "No earlier request begins like this one."
            : "All that an earlier request had in front was served from the cache."}
        </p>
      </>
    );
  }
  const slot = findings.find((finding) => finding.path === request.break_path && finding.slot_type !== null);
  return (
    <>
      <h3>
        The break, at token {count(request.break_token)}
        {answer.break_byte === null ? null : <>, byte {count(answer.break_byte)}</>}
      </h3>
      <dl className={styles.facts}>
        <Fact name="JSON path">{request.break_path === null ? "unknown" : <code>{visible(request.break_path)}</code>}</Fact>
        <Fact name="Cause">
          {request.causes.length === 0
            ? "none: nothing that a fix would give back"
            : request.causes.map((cause) => <CauseChip key={cause} cause={cause} />)}
          {[...new Set(findings.map((finding) => finding.owner))].map((owner) => (
            <OwnerChip key={owner} owner={owner} />
          ))}
        </Fact>
        {slot === undefined ? null : <Fact name="Slot type">{visible(slot.slot_type ?? "")}</Fact>}
        <Fact name="Baseline">
          {baseline === null ? (
            "none"
          ) : onOpen === undefined ? (
            visible(baseline.id, 120)
          ) : (
            <button type="button" onClick={() => onOpen(baseline.index)}>
              {visible(baseline.id, 120)}
            </button>
          )}{" "}
          <span className="dim">the earlier request with the longest common prefix</span>
        </Fact>
      </dl>
      <Tokens label="Shared, in front of the break" pieces={answer.before} />
      <Tokens label="This request, behind it" pieces={answer.here} />
      <Tokens label="The baseline, behind it" pieces={answer.there} />
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
