"use client";

import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "@/components/Panel.module.css";

/**
 * A panel over the right side of the page, in the way of everything else until it is closed: by its button,
 * Escape or a click beside it. Mount it to open it. Focus goes in, and back to where it was.
 */
export function Panel({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const panel = dialog.current;
    if (panel === null) return;
    const before = document.activeElement;
    panel.showModal();
    return () => {
      panel.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    const panel = dialog.current;
    const beside = (event: MouseEvent) => {
      if (event.target === panel) onClose();
    };
    panel?.addEventListener("click", beside);
    return () => panel?.removeEventListener("click", beside);
  }, [onClose]);
  return (
    <dialog
      ref={dialog}
      className={styles.panel}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className={styles.inside}>
        <header className={styles.header}>
          <h2 id={id} className={styles.title}>
            {title}
          </h2>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
