import { count, counted } from "@/lib/format";

export interface Page {
  /** Which rows of how many, in words. */
  said: string;
  /** Where the pages beside it begin; null: there is none. */
  previous: number | null;
  next: number | null;
}

/** A page of `total` rows; one that lies behind the last row, from an old address, leads back to the last page. */
export function pageOf(what: string, total: number, offset: number, limit: number): Page {
  const last = Math.min(offset + limit, total);
  const lastPage = Math.max(0, Math.floor((total - 1) / limit) * limit);
  const behind = offset > 0 && offset >= total;
  return {
    said: behind
      ? `None from ${count(offset + 1)} on: ${counted(total, what)} in all`
      : total === 0
        ? `No ${what}`
        : total <= limit && offset === 0
          ? counted(total, what)
          : `${count(offset + 1)}–${count(last)} of ${counted(total, what)}`,
    previous: behind ? lastPage : offset > 0 ? Math.max(0, offset - limit) : null,
    next: last < total ? offset + limit : null,
  };
}
