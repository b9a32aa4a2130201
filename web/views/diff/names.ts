import type { Slot } from "@/views/diff/layout";

/** Short names of slots in prompt order, "S1 time": what chips, headers and announcements call them. */
export function slotNames(slots: readonly Slot[]): (slot: string) => string {
  const names = new Map(slots.map((slot, place) => [slot.id, `S${place + 1} ${slot.type}`]));
  return (slot) => names.get(slot) ?? slot;
}
