"use client";

import { Fragment, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { nextOrder, type Order, type SortKey, sorted } from "@/lib/order";
import styles from "@/components/DataTable.module.css";

export interface Column<Row> {
  id: string;
  name: string;
  cell: (row: Row) => ReactNode;
  /** Figures stand right, and are sorted largest first. */
  figure?: boolean;
  /** The cell that names its row. */
  head?: boolean;
  /** Sort by this, in the browser; with `onOrder`, any value says that the server can. */
  sort?: (row: Row) => SortKey;
  /** What the column holds, where its name does not say. */
  title?: string;
  className?: string | undefined;
}

interface Props<Row> {
  caption: string;
  captionHidden?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  /** The order in force. Without `onOrder` it is the first one, and the table sorts its rows itself. */
  order?: Order | null;
  onOrder?: (order: Order) => void;
  /** The chosen row. */
  current?: string | number | null;
  /** What is shown beneath a row; null: nothing. */
  detail?: (row: Row) => ReactNode;
  /** Long tables scroll within themselves, beneath a header that stays. */
  boxed?: boolean;
  busy?: boolean;
}

/** A real table: caption, sortable headers, and a region that scrolls sideways where it must. */
export function DataTable<Row>(props: Props<Row>) {
  const { caption, captionHidden = false, columns, rowKey, current, detail, boxed = true, busy = false } = props;
  const id = useId();
  const region = useRef<HTMLDivElement>(null);
  const scrolls = useOverflow(region);
  const [ownOrder, setOwnOrder] = useState<Order | null>(props.order ?? null);
  const order = props.onOrder === undefined ? ownOrder : (props.order ?? null);
  const sortedBy = columns.find((column) => column.id === order?.column)?.sort;
  const rows =
    props.onOrder !== undefined || order === null || sortedBy === undefined
      ? props.rows
      : sorted(props.rows, sortedBy, order.descending);
  const regionProps = scrolls ? { role: "region", "aria-labelledby": id, tabIndex: 0 } : {};
  return (
    <div
      ref={region}
      className={`${styles.region} ${boxed ? styles.boxed : ""} ${scrolls ? styles.scrolls : ""}`}
      {...regionProps}
    >
      <table className={styles.table} aria-busy={busy || undefined}>
        <caption id={id} className={captionHidden ? "hidden" : styles.caption}>
          {caption}
        </caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Header key={column.id} column={column} order={order} onOrder={props.onOrder ?? setOwnOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row);
            const more = detail?.(row) ?? null;
            return (
              <Fragment key={key}>
                <tr aria-current={current === key ? "true" : undefined}>
                  {columns.map((column) => (
                    <Cell key={column.id} column={column} row={row} />
                  ))}
                </tr>
                {more === null ? null : (
                  <tr className={styles.detail}>
                    <td colSpan={columns.length}>
                      <div className={styles.within}>{more}</div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Header<Row>({
  column,
  order,
  onOrder,
}: {
  column: Column<Row>;
  order: Order | null;
  onOrder: (order: Order) => void;
}) {
  const by = order?.column === column.id ? order : null;
  const className = `${column.figure ? "number" : ""} ${column.className ?? ""}`;
  if (column.sort === undefined) {
    return (
      <th scope="col" className={className} title={column.title}>
        {column.name}
      </th>
    );
  }
  const arrow = by === null ? "" : by.descending ? "↓" : "↑";
  return (
    <th
      scope="col"
      className={className}
      aria-sort={by === null ? "none" : by.descending ? "descending" : "ascending"}
    >
      <button
        type="button"
        className={styles.sort}
        title={column.title}
        onClick={() => onOrder(nextOrder(order, column.id, column.figure ?? false))}
      >
        {column.name}
        <span aria-hidden="true" className={styles.arrow}>
          {arrow}
        </span>
      </button>
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const className = `${column.figure ? "number" : ""} ${column.className ?? ""}`;
  if (column.head) {
    return (
      <th scope="row" className={className}>
        {column.cell(row)}
      </th>
    );
  }
  return <td className={className}>{column.cell(row)}</td>;
}

/** Whether what stands in the element is larger than it: only then it needs focus to be scrolled with keys. */
function useOverflow(element: React.RefObject<HTMLElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const box = element.current;
    if (box === null) return;
    const look = () => {
      setScrolls(box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1);
    };
    const watching = new ResizeObserver(look);
    watching.observe(box);
    if (box.firstElementChild !== null) watching.observe(box.firstElementChild);
    return () => watching.disconnect();
  }, [element]);
  return scrolls;
}
