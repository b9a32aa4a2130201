"use client";

import { Choice, type Option, Select } from "@/components/Controls";
import { visible } from "@/lib/format";
import type { Changes } from "@/lib/url";
import type { Filters, Group } from "@/views/map/arrange";
import type { Columns } from "@/views/map/columns";
import type { Bands } from "@/views/map/paint";
import type { SiteNames } from "@/views/map/words";
import styles from "@/views/map/Map.module.css";

const GROUP_NAMES: readonly Option<Group>[] = [
  { value: "time", name: "time" },
  { value: "call_site", name: "call site" },
  { value: "session", name: "session" },
];
const BAND_NAMES: readonly Option<Bands>[] = [
  { value: "strip", name: "band" },
  { value: "fill", name: "whole line" },
  { value: "off", name: "off" },
];
const VIEW_NAMES: readonly Option<"map" | "table">[] = [
  { value: "map", name: "map" },
  { value: "table", name: "table" },
];

interface Props {
  columns: Columns;
  filters: Filters;
  names: SiteNames;
  group: Group;
  bands: Bands;
  asTable: boolean;
  onGroup: (group: Group) => void;
  /** Which requests are shown. */
  onChange: (changes: Changes) => void;
  /** How they are shown. */
  onShow: (changes: Changes) => void;
  onFold: ((all: boolean) => void) | null;
}

/** Grouping, filters, bands, and the map as a table. */
export function Toolbar(props: Props) {
  const { columns, filters, names, onChange, onShow, onFold } = props;
  const sites = choices(columns.callSites, "every call site", filters.callSite, (id) => names.get(id) ?? id);
  const sessions = choices(columns.sessions, "every session", filters.session, (name) => name);
  const causes = choices(columns.causes, "every cause", filters.cause, (code) => code);
  return (
    <div className={styles.toolbar}>
      <Choice legend="Group by" options={GROUP_NAMES} value={props.group} onChange={props.onGroup} />
      {onFold === null ? null : (
        <span className={styles.buttons}>
          <button type="button" onClick={() => onFold(true)}>
            Fold all
          </button>
          <button type="button" onClick={() => onFold(false)}>
            Unfold all
          </button>
        </span>
      )}
      <Select label="Call site" options={sites} value={filters.callSite ?? ""} onChange={(site) => onChange({ site })} />
      <Select
        label="Session"
        options={sessions}
        value={filters.session ?? ""}
        onChange={(session) => onChange({ session })}
      />
      <Select label="Cause" options={causes} value={filters.cause ?? ""} onChange={(cause) => onChange({ cause })} />
      <Choice
        legend="Sections"
        options={BAND_NAMES}
        value={props.bands}
        onChange={(bands) => onShow({ sections: bands === "strip" ? null : bands })}
      />
      <Choice
        legend="Show as"
        options={VIEW_NAMES}
        value={props.asTable ? "table" : "map"}
        onChange={(as) => onShow({ as: as === "map" ? null : as })}
      />
    </div>
  );
}

/** Values to choose from; one of the address that the map does not have stays to be seen and taken back. */
function choices(
  values: readonly string[],
  none: string,
  now: string | null,
  name: (value: string) => string,
): Option<string>[] {
  const all = now === null || values.includes(now) ? values : [...values, now];
  return [{ value: "", name: none }, ...all.map((value) => ({ value, name: visible(name(value), 60) }))];
}
