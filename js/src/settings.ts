/** What an agent lets one change in its session: menus in the status line for mode and model, a panel for the rest. */
import type { Context, Wish } from "./context";
import { fill, h, say, uid } from "./dom";
import { escaped, label } from "./escapes";
import { choiceName, choicesOf } from "./form";
import { Button } from "./frame";
import { icon } from "./icons";
import type { Choice, ConfigOption } from "./model";

/** Ask for a change: `busy` while it is on its way, then the error if it was refused ("" when it was taken). */
export type Ask = (wish: Wish, busy: (busy: boolean) => void, done: (error: string) => void) => void;

/** A menu of the state's own: native, so that it works with keys and readers and never moves the page. */
export class Picker {
  readonly node = h("li", { class: "hm-li" });
  private shown = "";

  constructor(private readonly name: string, private readonly ask: Ask, private readonly wish: (value: string) => Wish, private readonly failed: (error: string) => void) {}

  update(value: string, choices: Choice[], may: boolean, words: (choice: Choice) => string, all = false): void {
    const key = JSON.stringify([value, choices, may, all]);
    if (key === this.shown) return;
    this.shown = key;
    this.node.hidden = !value && !(may && choices.length);
    const known = choices.find((c) => c.value === value) ?? { value, label: "", help: "", group: "" };
    if (!may || choices.length < 2) {
      fill(this.node, h("span", { class: all && "hm-pick hm-pick-all" }, ...label(words(known), 40)));
      return;
    }
    const list = choices.includes(known) ? choices : [known, ...choices];
    const select: HTMLSelectElement = h("select", { class: `hm-pick${all ? " hm-pick-all" : ""}`, "aria-label": this.name, onchange: () => {
      this.ask(this.wish(select.value), (busy) => select.setAttribute("aria-busy", String(busy)), (error) => {
        this.failed(error && `${this.name} not changed: ${error}`);
        if (error) select.value = value;                               // what holds is what is shown
      });
    } }, choicesOf(list, (c) => h("option", { value: c.value, selected: c.value === value, title: c.help || null }, words(c))));
    fill(this.node, select, icon("chev"));
  }
}

/** One setting of the panel. */
class Setting {
  readonly rows: HTMLElement[];
  private readonly control: HTMLSelectElement | HTMLInputElement;
  private readonly fate = h("span", { class: "hm-help", role: "status" });
  private busy = false;

  constructor(private option: ConfigOption, ask: Ask) {
    const id = uid();
    const help = h("span", { class: "hm-help", id: uid() }, ...escaped(option.help, "prose"));
    const change = () => {
      const { control } = this;
      const value = control instanceof HTMLSelectElement ? control.value : control.checked;
      ask({ type: "set_option", option: option.id, value }, (busy) => {
        this.busy = busy;                                               // not disabled: that would take the focus away
        if (busy) this.tell("Changing", false);
      }, (error) => {
        this.tell(error && `Not changed: ${error}`, true);
        this.show();
      });
    };
    this.control = option.kind === "boolean" ? h("input", { type: "checkbox", class: "hm-check", id, onchange: change })
      : h("select", { class: "hm-in", id, onchange: change }, choicesOf(option.choices, (c) => h("option", { value: c.value, title: c.help || null }, choiceName(c))));
    if (option.help) this.control.setAttribute("aria-describedby", help.id);
    const name = label(option.name || option.id, 80);
    this.rows = [h("label", { class: "hm-label", for: id }, name),
      h("div", { class: "hm-form-cell" }, option.kind === "boolean" ? h("label", { class: "hm-opt", for: id }, this.control, help) : [this.control, option.help && help], this.fate)];
    this.fate.hidden = true;
    this.show();
  }

  private tell(text: string, bad: boolean): void {
    say(this.fate, text);
    this.fate.classList.toggle("hm-bad-text", bad);
    this.fate.hidden = !text;
  }

  update(option: ConfigOption, off: boolean): void {
    this.option = option;
    this.control.disabled = off;
    if (!this.busy) this.show();
  }

  private show(): void {
    const { control, option } = this;
    if (control instanceof HTMLInputElement) control.checked = option.value === true;
    else if (control.value !== option.value) control.value = String(option.value);
  }
}

/** The settings that are neither mode nor model, behind one button. Shown only where the agent offers some. */
export class Settings {
  readonly node = h("li");
  readonly panel = h("div", { class: "hm-settings", id: uid(), role: "group", "aria-label": "Settings of the agent" });
  private readonly button = new Button("Settings", { icon: "gear", cls: "hm-btn-s hm-btn-q", onclick: () => this.toggle() });
  private settings = new Map<string, Setting>();
  private shape = "";
  private open = false;

  constructor(private readonly ctx: Context, private readonly ask: Ask) {
    this.button.node.setAttribute("aria-controls", this.panel.id);
    this.node.append(this.button.node);
    this.draw();
  }

  private toggle(): void { this.open = !this.open; this.draw(); }

  private draw(): void {
    this.panel.hidden = !this.open || this.node.hidden;
    this.button.node.setAttribute("aria-expanded", String(this.open));
  }

  update(may: boolean): void {
    const { state } = this.ctx.store;
    const options = may && state.capabilities.options ? (state.options ?? []).filter((o) => !besides(o, state)) : [];
    this.node.hidden = !options.length;
    const shape = JSON.stringify(options.map(({ value: _, ...rest }) => rest));
    if (shape !== this.shape) {
      this.shape = shape;
      this.settings = new Map(options.map((o) => [o.id, new Setting(o, this.ask)]));
      fill(this.panel, h("div", { class: "hm-form hm-agent" }, [...this.settings.values()].flatMap((s) => s.rows)));
    }
    for (const o of options) this.settings.get(o.id)?.update(o, this.ctx.cut);
    this.draw();
  }

  /** Esc in the panel closes it, and the button has the focus again. */
  key(event: KeyboardEvent): boolean {
    if (event.key !== "Escape" || event.shiftKey || !this.panel.contains(event.target as Node)) return false;
    this.open = false;
    this.draw();
    this.button.node.focus({ preventScroll: true });
    return true;
  }
}

interface Chosen { modes: string[]; models: string[]; capabilities: { set_mode?: boolean; set_model?: boolean } }
/** Is it the mode or the model, which have their menus in the line? */
const besides = (o: ConfigOption, { modes, models, capabilities: can }: Chosen) =>
  (o.category === "mode" && !!can.set_mode && modes.length > 0) || (o.category === "model" && !!can.set_model && models.length > 0);

/** The choices of the mode or the model: ids of the state, with names, help and groups from the setting of that category. */
export function choices(what: "mode" | "model", ids: string[], labels: Record<string, string>, option: ConfigOption | undefined): Choice[] {
  const named = (key: string) => (Object.hasOwn(labels ?? {}, key) ? labels[key] as string : "");
  const known = new Map(option?.choices.map((c) => [c.value, c]));
  return ids.map((value) => {
    const choice = known.get(value);
    // A mode and a model may have one id; then the names with a prefix tell them apart.
    return { value, label: choice?.label || named(`${what}:${value}`) || named(value), help: choice?.help ?? "", group: choice?.group ?? "" };
  });
}
