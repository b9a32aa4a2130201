// Which of several kinds in one pixel is shown: one of them, never a colour between.

/** Among fates: the codes of diverged and evicted are shown from this share of the pixel's tokens on. */
export const LOST_SHARE = 0.05;
export const FIRST_LOST = 4;
export const KINDS = 6;
/** No token there. */
export const NOTHING = 255;

/**
 * The kind with the most tokens; the lower number where two have as many. With `losses`, a kind from
 * `FIRST_LOST` on with at least `LOST_SHARE` of all goes before the others. `shares` has `KINDS` entries.
 */
export function winner(shares: Float64Array, losses: boolean): number {
  let all = 0;
  let best = NOTHING;
  let most = 0;
  let lost = NOTHING;
  let mostLost = 0;
  for (let kind = 0; kind < KINDS; kind += 1) {
    const share = shares[kind] ?? 0;
    all += share;
    if (share > most) {
      most = share;
      best = kind;
    }
    if (kind >= FIRST_LOST && share > mostLost) {
      mostLost = share;
      lost = kind;
    }
  }
  return losses && lost !== NOTHING && mostLost >= LOST_SHARE * all ? lost : best;
}
