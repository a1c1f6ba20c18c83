/** A shell command shown whole: lines numbered, programs bold, hidden characters as boxes. It wraps and never folds. */
import { h } from "./dom";
import { escaped } from "./escapes";
import { type ShellPart, shellParts } from "./shell";
import { pretty } from "./format";

const CLASS: Record<ShellPart["kind"], string> = { program: "hm-p", operator: "hm-o", string: "hm-s", comment: "hm-c", plain: "" };

export function commandBlock(command: string): HTMLElement {
  const text = command.replace(/\r\n/g, "\n");
  const lines: HTMLElement[] = [h("span")];
  for (const part of shellParts(text)) {
    part.text.split("\n").forEach((piece, i) => {
      if (i) lines.push(h("span"));
      if (!piece) return;
      const line = lines[lines.length - 1] as HTMLElement;
      // Short options stay in one piece: a browser would break a line after the hyphen.
      const cls = `${CLASS[part.kind]}${piece.includes("-") && piece.length <= 32 && !piece.includes(" ") ? " hm-w" : ""}`.trim();
      line.append(cls ? h("span", { class: cls }, escaped(piece)) : h("span", null, escaped(piece)));
    });
  }
  for (const line of lines) if (!line.hasChildNodes()) line.append(" ");
  const many = lines.length > 1;
  return h("div", { class: "hm-well hm-cmd" },
    h("code", { class: `hm-cmd-text hm-agent${many ? " hm-cmd-many" : ""}`, tabindex: 0, "aria-label": `Command, ${lines.length} line${many ? "s" : ""}` },
      ...lines.map((line) => h("span", { class: "hm-cmd-line" }, line))));
}

/** Any value of a tool's input, whole and wrapped. */
export function valueBlock(value: unknown, name = "Input"): HTMLElement {
  return h("div", { class: "hm-well" }, h("pre", { class: "hm-pre hm-out hm-agent", tabindex: 0, "aria-label": name }, ...escaped(pretty(value))));
}
