// What of a verdict waits for a person, and what a person has said.

import type { Schema } from "@/lib/api/client";

type Answer = Schema<"VerdictAnswer">;
export type Approval = Schema<"Approval">;

export interface Approvable {
  key: string;
  check: string;
  case: string;
  sha256: string;
  about: string;
  /** None where the guard wrote no outputs: only the digest is known then. */
  before: Schema<"OutputText">[];
  after: Schema<"OutputText"> | null;
  approval: Approval | null;
  /** An approval of the same case for something else: it helps nothing now. */
  stale: Approval | null;
}

function same(approval: Approval, check: string, name: string): boolean {
  return approval.check === check && approval.case === name;
}

/** Changed outputs first, as the guard wrote them, then other things a person may approve. */
export function approvables(answer: Answer): Approvable[] {
  const find = (check: string, name: string, sha256: string) =>
    answer.approvals.find((approval) => same(approval, check, name) && approval.sha256 === sha256) ?? null;
  const stale = (check: string, name: string, sha256: string) =>
    answer.approvals.find((approval) => same(approval, check, name) && approval.sha256 !== sha256) ??
    answer.verdict.approvals_unused.find(
      (unused) => unused.why === "stale" && same(unused.approval, check, name) && unused.approval.sha256 !== sha256,
    )?.approval ??
    null;
  const found = answer.outputs.map(({ output, approval }): Approvable => ({
    key: keyOf(output.check, output.case, output.sha256),
    check: output.check,
    case: output.case,
    sha256: output.sha256,
    about: output.about,
    before: output.before,
    after: output.after,
    approval,
    stale: approval === null ? stale(output.check, output.case, output.sha256) : null,
  }));
  const known = new Set(found.map((output) => output.key));
  for (const check of answer.verdict.answers) {
    for (const problem of check.problems) {
      const sha256 = problem.approvable_sha256;
      if (sha256 === null || known.has(keyOf(check.check, problem.where, sha256))) continue;
      const approval = find(check.check, problem.where, sha256);
      found.push({
        key: keyOf(check.check, problem.where, sha256),
        check: check.check,
        case: problem.where,
        sha256,
        about: problem.what,
        before: [],
        after: null,
        approval,
        stale: approval === null ? stale(check.check, problem.where, sha256) : null,
      });
    }
  }
  return found;
}

function keyOf(check: string, name: string, sha256: string): string {
  return `${check}\n${name}\n${sha256}`;
}

/** Why a form cannot be sent, by field; empty: it can. */
export function fieldErrors(approver: string, reason: string): { approver?: string; reason?: string } {
  return {
    ...(approver.trim() === "" ? { approver: "Enter your name: an approval says who gave it." } : {}),
    ...(reason.trim() === "" ? { reason: "Enter a reason: an approval says why." } : {}),
  };
}
