"use client";

import { OwnerChip } from "@/components/Chips";
import { type Option, Select } from "@/components/Controls";
import { type Column, DataTable } from "@/components/DataTable";
import { count, visible } from "@/lib/format";
import type { Slot } from "@/views/diff/layout";
import styles from "@/views/diff/Diff.module.css";

/** The slots one by one, each with its place to choose. */
export function SlotList({
  slots,
  map,
  names,
  placeOf,
  placesOf,
  onPlace,
}: {
  slots: readonly Slot[];
  /** Where the tokens of the call site are shown. */
  map: string;
  names: (slot: string) => string;
  placeOf: (slot: string) => number;
  placesOf: (slot: string) => Option<string>[];
  onPlace: (slot: string, gap: number) => void;
}) {
  if (slots.length === 0) return <p className="dim">No slots: the prompts of this call site do not vary within.</p>;
  const columns: Column<Slot>[] = [
    { id: "name", name: "Slot", head: true, cell: (slot) => visible(names(slot.id), 60) },
    { id: "path", name: "Path", className: styles.path, cell: (slot) => <code>{visible(slot.path, 120)}</code> },
    { id: "owner", name: "Owner", cell: (slot) => <OwnerChip owner={slot.owner} /> },
    {
      id: "token",
      name: "At token",
      figure: true,
      cell: (slot) => (slot.token_offset === null ? "–" : <a href={map}>{count(slot.token_offset)}</a>),
    },
    {
      id: "distinct",
      name: "Values",
      title: "Different values, and requests that have the slot",
      figure: true,
      cell: (slot) => (
        <a href="#aligned">
          {count(slot.distinct)} in {count(slot.requests)}
        </a>
      ),
    },
    { id: "finding", name: "Finding", cell: (slot) => (slot.finding === null ? "none" : visible(slot.finding, 20)) },
    {
      id: "place",
      name: "Place",
      className: styles.place,
      cell: (slot) =>
        slot.movable ? (
          <Select
            label={`Place of ${visible(names(slot.id), 60)}`}
            labelHidden
            options={placesOf(slot.id)}
            value={String(placeOf(slot.id))}
            onChange={(gap) => onPlace(slot.id, Number(gap))}
          />
        ) : (
          <span className="dim">cannot be moved</span>
        ),
    },
  ];
  return <DataTable caption="Slots" columns={columns} rows={slots} rowKey={(slot) => slot.id} />;
}
