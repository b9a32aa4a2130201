import type { Schema } from "@/lib/api/client";
import { count, factor } from "@/lib/format";

/** The interval of a measured ratio, where there is one, to be set behind it. */
export function intervalOf({
  ttft_ratio_low: low,
  ttft_ratio_high: high,
}: Pick<Schema<"MeasuredGain">, "ttft_ratio_low" | "ttft_ratio_high">): string {
  return low === null || high === null ? " (no interval)" : ` (95% interval ${factor(low)} to ${factor(high)})`;
}

/** "4 passed, 1 refused"; outcomes that did not occur are left out. */
export function outcomes(behaviour: Pick<Schema<"Behaviour">, "passed" | "failed" | "needing_approval">): string {
  const said = [
    [behaviour.passed, "passed"],
    [behaviour.failed, "refused"],
    [behaviour.needing_approval, "to approve"],
  ] as const;
  const occurred = said.filter(([number]) => number > 0);
  return occurred.length === 0 ? "none" : occurred.map(([number, name]) => `${count(number)} ${name}`).join(", ");
}
