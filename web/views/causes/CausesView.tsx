import { OwnerChip } from "@/components/Chips";
import { Command } from "@/components/Command";
import CAUSES from "@/lib/causes.json";
import styles from "@/views/causes/Causes.module.css";

/** What each cause means, and what is done about it: the rules' own words. */
export function CausesView() {
  return (
    <>
      <h1>Causes of a broken prefix</h1>
      <Command run="keepwarm causes CODE" />
      <dl className={styles.causes}>
        {CAUSES.map((cause) => (
          <div key={cause.code} id={cause.code} className={styles.cause}>
            <dt>
              <code>{cause.code}</code> <OwnerChip owner={cause.owner} />
            </dt>
            <dd>{cause.summary}.</dd>
            <dd className="dim">{cause.suggestion}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
