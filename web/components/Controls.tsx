"use client";

import { useId } from "react";
import { pageOf } from "@/lib/paging";
import styles from "@/components/Controls.module.css";

export interface Option<Value extends string> {
  value: Value;
  name: string;
}

/** One of a few, all in sight: a group of radio buttons. */
export function Choice<Value extends string>({
  legend,
  options,
  value,
  onChange,
}: {
  legend: string;
  options: readonly Option<Value>[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className={styles.choice}>
      <legend className={styles.legend}>{legend}</legend>
      <div className={styles.segments}>
        {options.map((option) => (
          <label key={option.value} className={styles.segment}>
            <input
              type="radio"
              className={styles.radio}
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>{option.name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** One of many. */
export function Select<Value extends string>({
  label,
  labelHidden = false,
  options,
  value,
  onChange,
}: {
  label: string;
  labelHidden?: boolean;
  options: readonly Option<Value>[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  const id = useId();
  return (
    <span className={styles.field}>
      <label htmlFor={id} className={labelHidden ? "hidden" : styles.legend}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => {
          const chosen = options.find((option) => option.value === event.target.value);
          if (chosen !== undefined) onChange(chosen.value);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.name}
          </option>
        ))}
      </select>
    </span>
  );
}

/** A text to look for; `onChange` hears of it when the field is left or Enter is pressed. */
export function TextField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <form
      className={styles.field}
      onSubmit={(event) => {
        event.preventDefault();
        onChange(String(new FormData(event.currentTarget).get("text") ?? "").trim());
      }}
    >
      <label htmlFor={id} className={styles.legend}>
        {label}
      </label>
      <input
        key={value}
        id={id}
        name="text"
        type="search"
        maxLength={200}
        defaultValue={value}
        autoComplete="off"
        onBlur={(event) => {
          const text = event.target.value.trim();
          if (text !== value) onChange(text);
        }}
      />
    </form>
  );
}

/** Pages of what the server holds; `what` is one of it, say "request". */
export function Pager({
  what,
  total,
  offset,
  limit,
  onOffset,
}: {
  what: string;
  total: number;
  offset: number;
  limit: number;
  onOffset: (offset: number) => void;
}) {
  const { said, previous, next } = pageOf(what, total, offset, limit);
  return (
    <nav className={styles.pager} aria-label={`Pages of ${what}s`}>
      <span role="status">{said}</span>
      {previous === null && next === null ? null : (
        <>
          <button type="button" disabled={previous === null} onClick={() => onOffset(previous ?? 0)}>
            Previous
          </button>
          <button type="button" disabled={next === null} onClick={() => onOffset(next ?? 0)}>
            Next
          </button>
        </>
      )}
    </nav>
  );
}
