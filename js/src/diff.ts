/** Differences of two texts as tables a person can read: hunks with numbers, signs, and marks within changed lines. */
import { diffWordsWithSpace, structuredPatch } from "diff";
import { h } from "./dom";
import { escaped } from "./escapes";
import type { FileDiff } from "./model";

export interface Line { kind: "+" | "-" | " "; old: number | null; new: number | null; text: string }
export interface Hunk { title: string; lines: Line[]; newStart: number; newEnd: number }
export interface Diff { hunks: Hunk[]; added: number; removed: number; note: string }

/** Above this many edits the shortest difference is not searched for: everything old is removed, everything new added. */
const MAX_EDITS = 4000;
const MARKED_LINE = 2000;

const normal = (text: string) => text.replace(/\r\n/g, "\n");

export function compare(file: FileDiff): Diff {
  const before = normal(file.old ?? "");
  const after = normal(file.new ?? "");
  const note = file.new === null ? "the file is deleted"
    : before === after && file.old !== null ? (file.old === file.new ? "no change" : "only line endings change")
    : "";
  const patch = structuredPatch("a", "b", before, after, "", "", { context: 3, maxEditLength: MAX_EDITS });
  const raw = patch?.hunks ?? [whole(before, after)];
  const hunks: Hunk[] = [];
  let added = 0;
  let removed = 0;
  for (const hunk of raw) {
    let o = hunk.oldStart;
    let n = hunk.newStart;
    const lines: Line[] = [];
    for (const text of hunk.lines) {
      const kind = text[0];
      const rest = text.slice(1);
      if (kind === "+") { lines.push({ kind, old: null, new: n, text: rest }); n += 1; added += 1; }
      else if (kind === "-") { lines.push({ kind, old: o, new: null, text: rest }); o += 1; removed += 1; }
      else if (kind === " ") { lines.push({ kind, old: o, new: n, text: rest }); o += 1; n += 1; }
    }
    hunks.push({ title: title(file, hunk.newStart, n - 1, lines), lines, newStart: hunk.newStart, newEnd: n - 1 });
  }
  if (before !== after && before.endsWith("\n") !== after.endsWith("\n") && before && after) {
    return { hunks, added, removed, note: after.endsWith("\n") ? "a line end is added at the end of the file" : "the last line loses its line end" };
  }
  return { hunks, added, removed, note };
}

function whole(before: string, after: string): { oldStart: number; newStart: number; lines: string[] } {
  const lines = (text: string, sign: string) => (text ? text.replace(/\n$/, "").split("\n").map((l) => sign + l) : []);
  return { oldStart: 1, newStart: 1, lines: [...lines(before, "-"), ...lines(after, "+")] };
}

function title(file: FileDiff, from: number, to: number, lines: Line[]): string {
  if (file.partial) return "the passage that changes (line numbers are not known)";
  if (file.old === null && file.new !== null) return `new file, ${lines.length} line${lines.length === 1 ? "" : "s"}`;
  if (file.new === null) return `deleted, ${lines.length} line${lines.length === 1 ? "" : "s"}`;
  return to > from ? `lines ${from}–${to}` : to === from ? `line ${from}` : `after line ${to}`;
}

/** Marks within a removed and an added line that belong together; null where they have too little in common. */
export function marks(before: string, after: string): { old: [string, boolean][]; new: [string, boolean][] } | null {
  if (before.length > MARKED_LINE || after.length > MARKED_LINE) return null;
  const parts = diffWordsWithSpace(before, after, { maxEditLength: 200 });
  if (!parts) return null;
  const same = parts.filter((p) => !p.added && !p.removed).reduce((n, p) => n + p.value.trim().length, 0);
  if (same * 3 < Math.max(before.trim().length, after.trim().length)) return null;
  return {
    old: parts.filter((p) => !p.added).map((p) => [p.value, !!p.removed]),
    new: parts.filter((p) => !p.removed).map((p) => [p.value, !!p.added]),
  };
}

function textCell(parts: [string, boolean][] | null, line: Line): HTMLTableCellElement {
  const tag = line.kind === "+" ? "ins" : "del";
  const body = parts ? parts.map(([text, changed]) => (changed ? h(tag, null, ...escaped(text)) : escaped(text))) : [escaped(line.text || " ")];
  return h("td", { class: "hm-tx" }, ...body);
}

/** The table of one file's difference. It is whole: nothing scrolls, folds or is cut. */
export function diffTable(diff: Diff, numbers = true): HTMLElement {
  const body = h("tbody");
  for (const hunk of diff.hunks) {
    body.append(h("tr", { class: "hm-hunk" }, h("td", { class: "hm-ln-old" }), h("td", { colspan: 3 }, hunk.title)));
    const partner = pair(hunk.lines);
    for (const line of hunk.lines) {
      const cls = line.kind === "+" ? "hm-add" : line.kind === "-" ? "hm-del" : null;
      const sign = line.kind === "+" ? "+" : line.kind === "-" ? "−" : "";
      const num = (n: number | null) => (numbers && n !== null ? String(n) : "");
      body.append(h("tr", { class: cls },
        h("td", { class: "hm-ln hm-ln-old" }, num(line.old)), h("td", { class: "hm-ln hm-ln-new" }, num(line.new)),
        h("td", { class: "hm-sg" }, sign), textCell(partner.get(line) ?? null, line)));
    }
  }
  const table = h("table", { class: "hm-diff", "aria-label": "Changes" },
    h("colgroup", null, h("col", { class: "hm-ln-old hm-col-n" }), h("col", { class: "hm-col-n" }), h("col", { class: "hm-col-s" }), h("col")), body);
  return diff.note ? h("div", null, diff.hunks.length ? table : null, h("div", { class: "hm-diff-note" }, diff.note)) : table;
}

/** For each run of removed lines followed by added ones: the first with the first, and so on. */
function pair(lines: Line[]): Map<Line, [string, boolean][]> {
  const out = new Map<Line, [string, boolean][]>();
  for (let i = 0; i < lines.length;) {
    let d = i;
    while (lines[d]?.kind === "-") d += 1;
    let a = d;
    while (lines[a]?.kind === "+") a += 1;
    for (let k = 0; k < Math.min(d - i, a - d); k += 1) {
      const before = lines[i + k] as Line;
      const after = lines[d + k] as Line;
      const found = marks(before.text, after.text);
      if (found) { out.set(before, found.old); out.set(after, found.new); }
    }
    i = Math.max(a, i + 1);
  }
  return out;
}

export function stat(diff: Diff): HTMLElement {
  return h("span", { class: "hm-stat" }, h("span", { class: "hm-ok-text" }, `+${diff.added}`), " ", h("span", { class: "hm-bad-text" }, `−${diff.removed}`));
}
