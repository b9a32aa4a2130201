import type { Schema } from "@/lib/api/client";
import { visible } from "@/lib/format";
import { Outcome } from "./Outcome";

/** Whether the files of the evidence are as they were written. */
export function IntegrityLine({ integrity }: { integrity: Schema<"Integrity"> }) {
  if (!integrity.as_written) {
    return (
      <div role="alert">
        <p>
          <Outcome outcome="changed" /> The files are not as they were written; its figures prove nothing.
        </p>
        <ul>
          {integrity.mismatches.map((mismatch) => (
            <li key={mismatch}>{visible(mismatch, 500)}</li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <p>
      Integrity: every file is as it was written.{" "}
      {integrity.chain_sha256 === null ? (
        "There is no manifest to check by."
      ) : (
        <>
          Chain digest <code>{integrity.chain_sha256}</code>
        </>
      )}
    </p>
  );
}
