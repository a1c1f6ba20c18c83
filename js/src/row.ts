/** Rows of the log: one line each (glyph, verb, object, facts), details below on demand. */
import { commandBlock, valueBlock } from "./command";
import type { Context } from "./context";
import { compare, diffTable, stat } from "./diff";
import { type Child, fill, h, say } from "./dom";
import { Button } from "./frame";
import { escaped, label } from "./escapes";
import { clock, plural, took } from "./format";
import { icon, spinner } from "./icons";
import { picture } from "./markdown";
import type { Entry, FileDiff, ToolEntry } from "./model";
import { within } from "./paths";
import { OutputView } from "./output";
import { decided, decidedSentence, noteWay, objectOf, restOf, VERBS } from "./words";

/** How an entry is drawn. `update` is called when it changed, `tick` once a second while it runs. */
export interface EntryView {
  readonly node: HTMLElement;
  update(entry: Entry): void;
  tick?(): void;
}

/** A `details` row that builds its detail when it is opened, and leaves open or closed what the person chose. */
export class Row {
  readonly node = h("details", { class: "hm-tool" });
  private readonly glyph = h("span", { class: "hm-glyph-box" });
  private readonly verb = h("span", { class: "hm-verb" });
  private readonly object = h("code", { class: "hm-obj" });
  private readonly label = h("span", { class: "hm-sr" });
  private readonly meta = h("span", { class: "hm-meta" });
  private readonly detail = h("div", { class: "hm-agent" });
  private readonly chevron = icon("chev", "hm-chev");
  private readonly holder = h("div", { class: "hm-detail" }, this.detail);
  private look = "";
  /** True once the person opened or closed it. */
  touched = false;

  constructor(private readonly build: (into: HTMLElement) => void) {
    const summary = h("summary", { class: "hm-row", onclick: () => { this.touched = true; } },
      this.glyph, h("span", { class: "hm-row-main" }, this.verb, this.object), this.label, this.meta, this.chevron);
    this.node.append(summary, this.holder);
    this.node.addEventListener("toggle", () => { if (this.node.open) this.build(this.detail); });
  }

  get open(): boolean { return this.node.open; }

  /** Open or close it, unless the person did. */
  auto(open: boolean): void {
    if (this.touched || this.node.open === open) return;
    this.node.open = open;
    if (open) this.build(this.detail);
  }

  /** Draw the detail again if it is to be seen. */
  refresh(): void { if (this.node.open) this.build(this.detail); }

  set(options: { state: "run" | "bad" | "done" | "off" | "wait" | "thought" | "note" | "plan"; verb: Child[]; object?: string; prose?: boolean; status: string; meta: Child[]; detail: boolean }): void {
    const look = options.state;
    if (look !== this.look) {
      this.look = look;
      this.node.classList.toggle("hm-tool-run", look === "run");
      this.node.classList.toggle("hm-tool-bad", look === "bad");
      fill(this.glyph, look === "run" ? spinner() : look === "bad" ? icon("cross", "hm-glyph-bad") : look === "wait" ? icon("clock", "hm-glyph-wait")
        : icon(look === "done" ? "check" : look === "thought" ? "thought" : look === "note" ? "info" : look === "plan" ? "now" : "off", "hm-glyph"));
    }
    fill(this.verb, ...options.verb);
    const object = options.object ?? "";
    this.object.hidden = !object;
    this.object.classList.toggle("hm-obj-text", !!options.prose);
    fill(this.object, ...label(object, 300));
    say(this.label, options.status ? ` (${options.status}) ` : "");
    const facts = options.meta.filter(Boolean);
    fill(this.meta, ...facts.flatMap((m, i) => (i ? [h("span", { class: "hm-sr" }, ", "), m] : [m])));
    this.node.classList.toggle("hm-tool-flat", !options.detail);
  }
}

const STATUS: Record<string, string> = {
  drafting: "being written", pending: "waiting", running: "running", paused: "paused", completed: "finished", failed: "failed", denied: "denied", skipped: "skipped", interrupted: "interrupted",
};

export function fileTables(diffs: FileDiff[]): HTMLElement[] {
  return diffs.map((file) => {
    const diff = compare(file);
    return h("div", { class: "hm-file" },
      h("div", { class: "hm-file-head" }, h("code", null, ...escaped(file.path)), stat(diff)),
      h("div", { class: "hm-agent" }, diffTable(diff, !file.partial)));
  });
}

export class ToolRow implements EntryView {
  readonly node: HTMLElement;
  readonly row = new Row((into) => this.build(into));
  private entry!: ToolEntry;
  private output: OutputView | null = null;
  private outputOf: ToolEntry | null = null;
  private built = "";
  private readonly time = h("span");
  private seen = "";
  /** Where the calls of this sub-agent stand, and how many there are. */
  readonly nest = h("div", { class: "hm-nest" });
  private calls = 0;
  private stop: Button | null = null;
  private stopping = false;
  private readonly fate = h("span", { class: "hm-help hm-bad-text", role: "status" });

  constructor(private readonly ctx: Context) { this.node = this.row.node; }

  /** How many calls this one made, as a sub-agent. */
  made(calls: number): void {
    if (calls === this.calls) return;
    const first = !this.calls;
    this.calls = calls;
    this.draw();
    if (first) { this.outputOf = null; this.row.refresh(); }
  }

  get quiet(): boolean {
    return this.entry.status === "completed" && (this.entry.category === "read" || this.entry.category === "search") && !this.row.touched && !this.entry.decision && !this.calls;
  }

  /** Can this call alone be stopped now? */
  private get stoppable(): boolean {
    const { cancelable, status } = this.entry;
    return !!cancelable && !!this.ctx.store.state.capabilities.cancel_work && !this.ctx.store.frozen && (status === "running" || status === "paused" || status === "pending");
  }

  private stopIt(): void {
    const { stop } = this;
    if (!stop) return;
    if (this.ctx.cut) return say(this.fate, "The agent cannot be reached now.");
    this.stopping = true;
    stop.words("Stopping");
    stop.off(true);
    say(this.fate, "");
    void this.ctx.send({ type: "cancel_work", kind: "tool", work: this.entry.call_id }).answer.then(({ ok, error }) => {
      if (ok) return;
      this.stopping = false;
      stop.words("Stop this call");
      stop.off(false);
      say(this.fate, error || "It was not stopped.");
    });
  }

  update(entry: Entry): void {
    const before = this.entry as ToolEntry | undefined;
    this.entry = entry as ToolEntry;
    // Appended output changes the detail only.
    const seen = before === this.entry ? this.seen : "";
    if (this.stoppable) this.stop ??= new Button("Stop this call", { icon: "stop", cls: "hm-btn-s hm-stop", onclick: () => this.stopIt() });
    if (seen !== this.entry.status) this.draw();
    this.seen = this.entry.status;
    this.row.refresh();
  }

  private draw(): void {
    const e = this.entry;
    const elsewhere = this.ctx.store.elsewhere.has(e.call_id);
    const running = e.status === "running" || e.status === "drafting";
    const { text } = objectOf(e);
    const { root } = this.ctx.store.state;
    const meta: Child[] = [];
    if (e.decision && (e.decision.outcome !== "allowed" || e.decision.by !== "agent" || elsewhere)) {
      meta.push(h("span", null, decided(e.decision, elsewhere, e.diffs.length)));
    } else if (e.status === "denied" || e.status === "skipped" || e.status === "interrupted") meta.push(h("span", null, e.status));
    else if (e.decision) meta.push(h("span", { class: "hm-meta-x" }, decided(e.decision, elsewhere, e.diffs.length)));
    if (e.status === "drafting") meta.push(h("span", null, "being written"));
    if (e.status === "paused") meta.push(h("span", null, "paused"));
    if (this.calls) meta.push(h("span", { class: "hm-meta-x" }, plural(this.calls, "call")));
    if (e.status === "failed") meta.push(h("span", { class: "hm-bad-text" }, e.exit_code === null ? "failed" : `exit ${e.exit_code}`));
    if (e.status === "interrupted" && e.decision?.outcome === "allowed") meta.push(h("span", null, "interrupted"));
    if (e.diffs.length) {
      const counts = e.diffs.filter((d) => e.decision?.files?.includes(d.path) ?? true).map(compare);
      meta.push(stat({ hunks: [], note: "", added: sum(counts.map((c) => c.added)), removed: sum(counts.map((c) => c.removed)) }));
    }
    meta.push(this.time);
    this.row.set({
      state: running ? "run" : e.status === "failed" ? "bad" : e.status === "completed" ? "done" : e.status === "pending" || e.status === "paused" ? "wait" : "off",
      verb: VERBS[e.category] ? [VERBS[e.category] as string] : label(e.name || "Tool"),
      object: e.diffs.length ? e.diffs.map((d) => within(d.path, root)).join(", ") : /^(?:read|edit)$/.test(e.category) ? within(text, root) : text, prose: e.category === "agent", status: STATUS[e.status] ?? e.status, meta, detail: true,
    });
    this.tick();
    const note = !!e.decision?.note && e.decision.outcome === "denied";
    this.row.auto((e.status === "running" && (e.category === "shell" || e.category === "agent" || this.stoppable)) || e.status === "failed" || note || (e.status === "denied" && note));
  }

  tick(): void {
    if (this.stop && !this.stopping) this.stop.off(this.ctx.cut);
    const { started, ended, status, decision } = this.entry;
    const running = status === "running";
    const never = status === "denied" || status === "skipped" || status === "pending" || (decision && !/^(?:allowed|chosen)$/.test(decision.outcome));
    say(this.time, never || started === null || (!running && ended === null) ? ""
      : ended !== null ? took(ended - started) : clock(this.ctx.store.now() - started));
    this.time.hidden = !this.time.textContent;
  }

  private build(into: HTMLElement): void {
    const e = this.entry;
    const { text, key } = objectOf(e);
    const rest = restOf(e.input, e.diffs.length ? ["path", "file_path", "content", "old", "new", "old_string", "new_string", "edits", "files"] : [key]);
    const whole = text.includes("\n") || text.length > 64;
    // What stands above the output changes rarely; the output changes at every piece.
    const places = (e.locations ?? []).filter((at) => !text.includes(at) && !e.diffs.some((d) => at === d.path || at.startsWith(`${d.path}:`)));
    const { stoppable } = this;
    const built = JSON.stringify([e.status, e.decision, e.diffs.length, e.images.length, text, rest, places, stoppable, this.calls > 0]);
    if (built !== this.built || !this.outputOf) {
      this.built = built;
      const sentence = decidedSentence(e, noteWay(e.decision?.deny_note, this.ctx.store.state.capabilities) === "next_message");
      this.output ??= new OutputView();
      fill(into,
        stoppable && h("div", { class: "hm-acts" }, this.stop?.node, this.fate),
        sentence && h("div", { class: "hm-decided" }, ...escaped(sentence.lead), sentence.note && h("q", null, ...escaped(sentence.note)), sentence.tail),
        whole && (e.category === "shell" ? commandBlock(text) : key ? valueBlock(text, key) : null),
        rest !== null && valueBlock(rest),
        places.length > 0 && h("div", { class: "hm-decided" }, "At ", places.slice(0, 50).flatMap((at, i) => [i ? ", " : null, h("code", null, ...escaped(within(at, this.ctx.store.state.root)))]), places.length > 50 && ` and ${places.length - 50} more`),
        this.calls > 0 && this.nest,
        fileTables(e.diffs), this.output.node,
        e.images.map((image) => picture(`data:${image.mime};base64,${image.data}`, "Image from the tool")),
        h("div", { class: "hm-help hm-empty" }, e.status === "running" ? "No output yet." : "No output."));
    }
    const output = this.output as OutputView;
    output.update(e.output, this.outputOf !== e);
    this.outputOf = e;
    output.node.hidden = !e.output;
    const empty = into.querySelector<HTMLElement>(":scope > .hm-empty");
    if (empty) empty.hidden = into.childElementCount > 2 + (stoppable ? 1 : 0) || !!e.output;
  }
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
