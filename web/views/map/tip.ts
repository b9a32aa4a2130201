// The tooltip at the pointer: plain text, put where there is room.

const ASIDE = 14;

export class Tip {
  #width = 0;
  #text = "";

  constructor(readonly element: HTMLElement) {}

  /** Lines at a place of the box that is `within` CSS pixels wide; null hides it. */
  show(lines: readonly string[] | null, x: number, y: number, within: number): void {
    const { element } = this;
    if (lines === null) {
      element.hidden = true;
      return;
    }
    element.hidden = false;
    const text = lines.join("\n");
    if (text !== this.#text) {
      this.#text = text;
      element.textContent = text;
      this.#width = element.offsetWidth;
    }
    const left = x + ASIDE + this.#width > within ? Math.max(0, x - ASIDE - this.#width) : x + ASIDE;
    element.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(y + ASIDE)}px)`);
  }
}
