// Orders of a table as they stand in the address: a column, "-" before it for largest first.

export interface Order {
  column: string;
  descending: boolean;
}

export function readOrder(text: string | null): Order | null {
  if (text === null || text === "" || text === "-") return null;
  return text.startsWith("-") ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function writeOrder(order: Order): string {
  return (order.descending ? "-" : "") + order.column;
}

/** What a click on the header of `column` asks for: figures come largest first, a second click turns them round. */
export function nextOrder(now: Order | null, column: string, largestFirst: boolean): Order {
  if (now?.column === column) return { column, descending: !now.descending };
  return { column, descending: largestFirst };
}

export type SortKey = string | number | null;

/** Rows in order of `key`, those without one last in both directions; equal ones stay as they were. */
export function sorted<Row>(rows: readonly Row[], key: (row: Row) => SortKey, descending: boolean): Row[] {
  const turn = descending ? -1 : 1;
  return rows
    .map((row, place) => ({ row, place, key: key(row) }))
    .sort((a, b) => {
      if (a.key === null || b.key === null) {
        return a.key === b.key ? a.place - b.place : a.key === null ? 1 : -1;
      }
      return turn * compare(a.key, b.key) || a.place - b.place;
    })
    .map(({ row }) => row);
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
