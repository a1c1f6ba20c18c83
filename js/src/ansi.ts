/** Terminal output as lines of coloured text. Fed piece by piece; only colours, bold, \r, \b and erase-line are obeyed.
 *
 * Everything else a terminal would do (move, clear, titles, links) is dropped: output can never leave its own line.
 */
import { h } from "./dom";

interface Style { colour: string; bold: boolean }
interface Cell { text: string; style: Style }

const PLAIN: Style = { colour: "", bold: false };
const HUES = ["", "hm-ar", "hm-ag", "hm-ay", "hm-ab", "hm-am", "hm-ac", ""];
const MAX_LINE = 100_000;

export class Terminal {
  /** Finished lines, then the open one. */
  readonly lines: Cell[][] = [[]];
  private style: Style = PLAIN;
  private column = -1;         // -1: at the end of the line (the usual case)
  private rest = "";           // an escape sequence cut off at the end of a piece

  feed(piece: string): void {
    let text = this.rest + piece;
    this.rest = "";
    // A sequence not yet whole waits for the next piece (but not for ever: a stray ESC is dropped).
    const open = /\x1b(?:\[[0-9;:?<=>!]*|\][^\x07\x1b]{0,4096}(?:\x1b)?|[()#]?)?$|\r$/.exec(text);
    if (open) {
      this.rest = open[0];
      text = text.slice(0, open.index);
    }
    const token = /\x1b\[([0-9;:]*)([@-~])|\x1b\[[?<=>!][0-9;:]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()#]?.?|\r\n|\n|\r|\x08|[\x00-\x07\x0b-\x1f\x7f-\x9f]/g;
    let at = 0;
    for (const match of text.matchAll(token)) {
      if (match.index > at) this.write(text.slice(at, match.index));
      at = match.index + match[0].length;
      const [whole, args, final] = match;
      if (whole === "\n" || whole === "\r\n") { this.lines.push([]); this.column = -1; }
      else if (whole === "\r") this.column = 0;
      else if (whole === "\b") this.column = Math.max(0, (this.column < 0 ? this.width() : this.column) - 1);
      else if (final === "m") this.sgr(args ?? "");
      else if (final === "K") this.erase(args ?? "");
    }
    if (at < text.length) this.write(text.slice(at));
  }

  private get line(): Cell[] { return this.lines[this.lines.length - 1] as Cell[]; }
  private width(): number { return this.line.reduce((n, c) => n + c.text.length, 0); }

  private write(text: string): void {
    const line = this.line;
    if (this.column < 0) {
      const last = line[line.length - 1];
      if (last && last.style === this.style && last.text.length < MAX_LINE) last.text += text;
      else line.push({ text, style: this.style });
      return;
    }
    const end = this.column + text.length;
    const after = slice(line, end, Infinity);
    line.splice(0, line.length, ...slice(line, 0, this.column), { text, style: this.style }, ...after);
    this.column = after.length ? end : -1;
  }

  private erase(args: string): void {
    const line = this.line;
    const at = this.column < 0 ? this.width() : this.column;
    if (args === "" || args === "0") line.splice(0, line.length, ...slice(line, 0, at));
    else if (args === "2") { line.length = 0; this.column = -1; return; }
    if (at >= this.width()) this.column = -1;
  }

  private sgr(args: string): void {
    const codes = args.split(/[;:]/).map(Number);
    let { colour, bold } = this.style;
    for (let i = 0; i < codes.length; i += 1) {
      const code = codes[i] ?? 0;
      if (code === 0) { colour = ""; bold = false; }
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = HUES[code % 10] ?? "";
      else if (code === 39) colour = "";
      else if (code === 38 || code === 48) {
        const many = codes[i + 1] === 2;
        if (code === 38) colour = many ? hue(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0) : indexed(codes[i + 2] ?? 0);
        i += many ? 4 : 2;
      }
    }
    this.style = colour || bold ? { colour, bold } : PLAIN;
  }
}

function slice(line: Cell[], from: number, to: number): Cell[] {
  const out: Cell[] = [];
  let at = 0;
  for (const cell of line) {
    const text = cell.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text) out.push({ text, style: cell.style });
    at += cell.text.length;
  }
  return out;
}

function indexed(n: number): string {
  if (n < 16) return HUES[n % 8] ?? "";
  if (n >= 232) return "";
  const c = n - 16;
  return hue(Math.floor(c / 36) * 51, (Math.floor(c / 6) % 6) * 51, (c % 6) * 51);
}

/** The nearest of the theme's six hues: agents do not get to choose a colour that hides text. */
function hue(r: number, g: number, b: number): string {
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  if (max - min < 40) return "";
  const mid = (max + min) / 2;
  return HUES[(r > mid ? 1 : 0) | (g > mid ? 2 : 0) | (b > mid ? 4 : 0)] ?? "";
}

export function lineNodes(line: Cell[]): (Node | string)[] {
  return line.map(({ text, style }) => {
    const cls = `${style.colour}${style.bold ? " hm-b" : ""}`.trim();
    return cls ? h("span", { class: cls }, text) : text;
  });
}
