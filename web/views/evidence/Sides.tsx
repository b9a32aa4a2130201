"use client";

import { useMemo, useState } from "react";
import type { Schema } from "@/lib/api/client";
import { count, visible } from "@/lib/format";
import { type Part, sideOf, wordDiff } from "./diff";
import { TextBox } from "./TextBox";
import styles from "./Evidence.module.css";

type Text = Schema<"OutputText">;
/** So much is shown until more is asked for; differences of longer texts take a browser seconds. */
export const MOST_CHARS = 20_000;

/** Two answers beside each other; what was taken out and put in is marked word by word. */
export function Sides({ before, after }: { before: Text | null; after: Text }) {
  const [whole, setWhole] = useState(false);
  const longest = Math.max(before?.text.length ?? 0, after.text.length);
  const most = whole ? longest : MOST_CHARS;
  const parts = useMemo(
    () => wordDiff(visible(before?.text ?? "", most), visible(after.text, most)),
    [before, after, most],
  );
  return (
    <>
      <div className={styles.sides}>
        <Side title="before" parts={before === null ? null : sideOf(parts, "before")} calls={before?.tool_calls ?? []} others={after.tool_calls} />
        <Side title="after" parts={sideOf(parts, "after")} calls={after.tool_calls} others={before?.tool_calls ?? []} />
      </div>
      {longest > MOST_CHARS && !whole ? (
        <p className={styles.warn}>
          Only the first {count(MOST_CHARS)} of {count(longest)} characters are shown.{" "}
          <button type="button" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      ) : null}
    </>
  );
}

function Side({ title, parts, calls, others }: { title: string; parts: Part[] | null; calls: string[]; others: string[] }) {
  return (
    <div className={styles.side} role="group" aria-label={title}>
      <h4>{title}</h4>
      {parts === null ? (
        <p className="dim">No answer was recorded.</p>
      ) : parts.length === 0 ? (
        <p className="dim">No text.</p>
      ) : (
        <TextBox label={`Text ${title}`}>
          {parts.map((part, index) => (
            <Marked key={index} part={part} />
          ))}
        </TextBox>
      )}
      {calls.length === 0 ? null : (
        <>
          <h4>Tool calls {title}</h4>
          <ol>
            {calls.map((call, index) => (
              <li key={`${index}${call}`}>
                <code>
                  <Marked part={{ change: others[index] === call ? "same" : title === "before" ? "removed" : "added", text: visible(call) }} />
                </code>
              </li>
            ))}
          </ol>
        </>
      )}
      {calls.length === 0 && others.length > 0 ? <p className="dim">No tool call.</p> : null}
    </div>
  );
}

function Marked({ part }: { part: Part }) {
  if (part.change === "removed") return <del>{part.text}</del>;
  if (part.change === "added") return <ins>{part.text}</ins>;
  return <span>{part.text}</span>;
}
