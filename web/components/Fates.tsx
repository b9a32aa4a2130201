"use client";

import { Link } from "@/components/Link";
import type { Schema } from "@/lib/api/client";
import { FATES, type Fate, stretches } from "@/lib/fates";
import { percent, tokens as tokensText } from "@/lib/format";
import styles from "@/components/Fates.module.css";

const LETTER_FROM_SHARE = 0.07;

/** The patterns that bars and legends are filled with; once in a page. */
export function FatePatterns() {
  return (
    <svg className="hidden" aria-hidden="true" focusable="false" width="0" height="0">
      <defs>
        {FATES.map(({ fate }) => (
          <pattern key={fate} id={`fate-${fate}`} width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" className={styles[fate]} />
            <Strokes fate={fate} />
          </pattern>
        ))}
      </defs>
    </svg>
  );
}

/** As in the break map: what was lost has a pattern, stripes for diverged and dots for evicted. */
function Strokes({ fate }: { fate: Fate }) {
  if (fate === "diverged") return <path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" className={styles.stroke} />;
  if (fate === "evicted") return <path d="M1.5 1.5h0M4.5 4.5h0" className={styles.dots} />;
  return null;
}

/** Tokens by fate as one bar; `label` says whose tokens they are. */
export function FateBar({ tokens, label }: { tokens: Schema<"TokenFates">; label: string }) {
  const parts = stretches(tokens);
  const said = parts.map((part) => `${part.fate} ${percent(part.share)}`).join(", ");
  return (
    <svg className={styles.bar} role="img" aria-label={`${label}: ${said || "no tokens"}`}>
      {parts.map((part) => (
        <g key={part.fate}>
          <title>{`${part.fate}: ${tokensText(part.tokens)}, ${percent(part.share)}; ${part.meaning}`}</title>
          <rect
            x={`${100 * part.start}%`}
            width={`${100 * part.share}%`}
            height="100%"
            fill={`url(#fate-${part.fate})`}
          />
          {part.share < LETTER_FROM_SHARE ? null : (
            <text x={`${100 * (part.start + part.share / 2)}%`} y="50%" className={styles.letter}>
              {part.letter}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

/** What the colours, patterns and letters mean; with `tokens`, how many met each fate; `to` leads to their rows. */
export function FateLegend({ tokens, to }: { tokens?: Schema<"TokenFates">; to?: (fate: Fate) => string }) {
  return (
    <ul className={styles.legend} aria-label="Fates of prompt tokens">
      {FATES.map(({ fate, letter, meaning }) => (
        <li key={fate} title={meaning}>
          <svg className={styles.swatch} aria-hidden="true">
            <rect width="100%" height="100%" fill={`url(#fate-${fate})`} />
            <text x="50%" y="50%" className={styles.letter}>
              {letter}
            </text>
          </svg>
          <span>{fate}</span>
          <span className="hidden">: {meaning}</span>
          {tokens === undefined || tokens.prompt === 0 ? null : (
            <Share rate={tokens[fate] / tokens.prompt} href={tokens[fate] === 0 ? undefined : to?.(fate)} />
          )}
        </li>
      ))}
    </ul>
  );
}

function Share({ rate, href }: { rate: number; href: string | undefined }) {
  return href === undefined ? <span className="dim">{percent(rate)}</span> : <Link href={href}>{percent(rate)}</Link>;
}
