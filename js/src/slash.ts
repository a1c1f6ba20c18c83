/** The agent's commands, completed after "/" in the box: a list below the text, chosen by arrows and Enter or Tab.
 *
 * The focus stays in the text field, as in every combobox; the list tells readers what is active by its id.
 */
import { fill, h, uid } from "./dom";
import { escaped, label } from "./escapes";
import type { SlashCommand } from "./model";

/** Commands listed at once. */
const MOST = 50;

export class Slash {
  readonly node = h("ul", { class: "hm-slash hm-agent", role: "listbox", id: uid(), "aria-label": "Commands of the agent" });
  private found: SlashCommand[] = [];
  private at = 0;
  private closedAt: string | null = null;              // the text Esc was pressed at: it stays closed until that changes
  private commands: readonly SlashCommand[] = [];

  constructor(private readonly area: HTMLTextAreaElement, private readonly changed: () => void) {
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": this.node.id, "aria-expanded": "false", "aria-haspopup": "listbox" })) area.setAttribute(name, value);
    this.node.hidden = true;
    area.addEventListener("blur", () => this.close());
  }

  get open(): boolean { return !this.node.hidden; }
  close(): void { this.found = []; this.draw(); }

  /** Look at the text anew. */
  update(commands: readonly SlashCommand[]): void {
    this.commands = commands;
    const { area } = this;
    const typed = /^\/(\S*)$/.exec(area.value)?.[1];
    if (this.closedAt !== area.value) this.closedAt = null;
    if (typed === undefined || this.closedAt !== null || document.activeElement !== area) return this.close();
    const low = typed.toLowerCase();
    const active = this.found[this.at]?.name;
    const starting = commands.filter((c) => c.name.toLowerCase().startsWith(low));
    this.found = [...starting, ...commands.filter((c) => !starting.includes(c) && c.name.toLowerCase().includes(low))].slice(0, MOST);
    if (this.found.length === 1 && this.found[0]?.name === typed) this.found = [];         // whole already: Enter sends it
    this.at = Math.max(0, this.found.findIndex((c) => c.name === active));
    this.draw();
  }

  /** The hint of the command in the box, while nothing was written after it. */
  get hint(): [string, string] | null {
    const name = /^\/(\S+)\s*$/.exec(this.area.value)?.[1];
    const command = name && this.commands.find((c) => c.name === name);
    return command && command.hint ? [command.name, command.hint] : null;
  }

  key(event: KeyboardEvent): boolean {
    if (!this.open || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.draw();
    } else if (event.key === "Enter" || event.key === "Tab") this.take(this.found[this.at]);
    else if (event.key === "Escape") {
      this.closedAt = this.area.value;
      this.close();
    } else return false;
    return true;
  }

  private take(command: SlashCommand | undefined): void {
    if (!command) return;
    this.area.value = `/${command.name}${command.hint ? " " : ""}`;
    this.closedAt = this.area.value;
    this.close();
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(this.area.value.length, this.area.value.length);
    this.changed();
  }

  private draw(): void {
    const { area, node, found } = this;
    node.hidden = !found.length;
    fill(node, found.map((c, i) => h("li", { role: "option", id: `${node.id}0${i}`, "aria-selected": String(i === this.at),
      // The press alone would take the focus from the text.
      onmousedown: (event: MouseEvent) => event.preventDefault(), onclick: () => this.take(c) },
    h("code", null, "/", ...label(c.name, 60)), c.hint && h("span", { class: "hm-slash-hint" }, ...label(c.hint, 60)), c.help && h("span", { class: "hm-help" }, ...escaped(c.help.length > 300 ? `${c.help.slice(0, 299)}…` : c.help, "prose")))));
    area.setAttribute("aria-expanded", String(found.length > 0));
    const active = node.children[this.at] as HTMLElement | undefined;
    if (!active) return area.removeAttribute("aria-activedescendant");
    area.setAttribute("aria-activedescendant", active.id);
    // Not scrollIntoView: that would move the page too.
    if (active.offsetTop < node.scrollTop) node.scrollTop = active.offsetTop;
    else if (active.offsetTop + active.offsetHeight > node.scrollTop + node.clientHeight) node.scrollTop = active.offsetTop + active.offsetHeight - node.clientHeight;
  }
}
