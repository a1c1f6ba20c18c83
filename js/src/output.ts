/** The output of a tool: ANSI colours, folded when long (first 3 lines, a fold, last 4), cheap to append to. */
import { lineNodes, Terminal } from "./ansi";
import { h, say } from "./dom";
import { escapeBelow } from "./escapes";
import { icon } from "./icons";

const FOLD_OVER = 24;
const HEAD = 3;
const TAIL = 4;
/** More lines than this are not put in the page, folded or not. */
const MOST = 5_000;

export class OutputView {
  readonly node: HTMLElement;
  private terminal = new Terminal();
  private fed = 0;
  private open = false;
  private drawn = 0;                 // finished lines already in `first` while all are shown
  private readonly first = h("pre", { class: "hm-pre hm-out", tabindex: 0, "aria-label": "Output" });
  private readonly last = h("pre", { class: "hm-pre hm-out", tabindex: 0, "aria-label": "End of the output" });
  private readonly foldText = h("span");
  private readonly fold = h("button", { class: "hm-fold", type: "button", onclick: () => { this.open = true; this.drawn = 0; this.draw(); } }, icon("chev"), this.foldText);

  constructor() { this.node = h("div", { class: "hm-well" }, this.first, this.fold, this.last); }

  get lineCount(): number {
    const { lines } = this.terminal;
    return lines.length - ((lines[lines.length - 1] ?? []).length ? 0 : 1);
  }

  /** `fresh`: the text is a new one, not the old one and more. */
  update(text: string, fresh: boolean): void {
    if (fresh || text.length < this.fed) {
      this.terminal = new Terminal();
      this.fed = 0;
      this.drawn = 0;
    }
    if (text.length > this.fed || fresh) {
      this.terminal.feed(text.slice(this.fed));
      this.fed = text.length;
    }
    this.draw();
  }

  private put(pre: HTMLElement, from: number, to: number): void {
    pre.replaceChildren();
    this.append(pre, from, to);
  }

  private append(pre: HTMLElement, from: number, to: number): void {
    const rows = this.terminal.lines.slice(from, to).map((line) => h("span", null, ...lineNodes(line)));
    rows.forEach((row, i) => {
      escapeBelow(row, "prose");
      if (i || pre.hasChildNodes()) pre.append("\n");
      pre.append(row);
    });
  }

  private draw(): void {
    const n = this.lineCount;
    const folded = n > FOLD_OVER && (!this.open || n > MOST);
    if (!folded) {
      if (n <= FOLD_OVER || this.drawn > n) this.drawn = 0;
      if (!this.drawn) this.first.replaceChildren();
      const stable = Math.max(0, this.drawn - 1);          // the last line drawn may have grown
      while (this.first.childNodes.length > stable * 2 - (stable ? 1 : 0)) this.first.lastChild?.remove();
      this.append(this.first, stable, n);
      this.drawn = n;
    } else {
      const head = this.open ? Math.floor(MOST / 2) : HEAD;
      const tail = this.open ? MOST - head : TAIL;
      if (this.first.childElementCount !== head) this.put(this.first, 0, head);
      this.put(this.last, n - tail, n);
      this.drawn = 0;
      say(this.foldText, this.open ? `${(n - head - tail).toLocaleString("en")} lines more, in the turn object` : `+${(n - head - tail).toLocaleString("en")} lines`);
    }
    this.fold.hidden = !folded;
    this.last.hidden = !folded;
  }
}
