/** The other entries of the log: messages, thoughts, what the person said, decided questions, plans, notices, unknown kinds. */
import type { Context } from "./context";
import { type Child, fill, h, say } from "./dom";
import { escaped, label } from "./escapes";
import { clock, plural, pretty, short, took } from "./format";
import { icon, type IconName } from "./icons";
import { inline, Markdown, picture } from "./markdown";
import type { CompactionEntry, Entry, MessageEntry, NoticeEntry, PlanEntry, QuestionEntry, ThoughtEntry, TurnEntry, UnknownEntry, UserEntry } from "./model";
import { type EntryView, Row, ToolRow } from "./row";
import { OutputView } from "./output";
import { valueBlock } from "./command";

class MessageView implements EntryView {
  readonly node = h("div", { class: "hm-say" });
  private readonly markdown = new Markdown();
  private readonly caret = h("span", { class: "hm-caret", "aria-hidden": "true" });
  private readonly cut = h("div", { class: "hm-help" }, "interrupted here");

  private readonly pictures = h("div", { class: "hm-agent" });
  private shown = 0;

  constructor() { this.node.append(this.markdown.node); }

  update(entry: Entry): void {
    const e = entry as MessageEntry;
    this.markdown.update(e.text, e.open);
    this.node.hidden = !e.text.trim() && !e.images?.length;
    if (e.images?.length !== this.shown) {
      this.shown = e.images?.length ?? 0;
      fill(this.pictures, (e.images ?? []).map((image) => picture(`data:${image.mime};base64,${image.data}`, "Picture from the agent")));
      this.node.append(this.pictures);
    }
    if (e.open) this.markdown.tail.append(this.caret);
    else this.caret.remove();
    if (e.interrupted) this.node.append(this.cut);
    else this.cut.remove();
  }
}

class ThoughtView implements EntryView {
  readonly node: HTMLElement;
  private entry!: ThoughtEntry;
  private readonly time = h("span");
  private readonly text = h("div", { class: "hm-think" });
  private readonly row = new Row((into) => {
    fill(this.text, ...escaped(this.entry.text.trim(), "prose"));
    if (this.text.parentElement !== into) fill(into, this.text);
  });

  constructor(private readonly ctx: Context) { this.node = this.row.node; }

  update(entry: Entry): void {
    this.entry = entry as ThoughtEntry;
    const { open, text } = this.entry;
    const tail = text.trimEnd().split("\n").at(-1) ?? "";
    this.row.set({ state: open ? "run" : "thought", verb: [open ? "Thinking" : "Thought"], object: open ? tail.slice(-160) : "", prose: true, status: open ? "running" : "", meta: [this.time], detail: true });
    this.tick();
    this.row.refresh();
  }

  tick(): void {
    const { started, ended, open } = this.entry;
    say(this.time, !started ? "" : ended !== null ? (ended - started < 10 ? took(ended - started).replace(".0 ", " ") : took(Math.round(ended - started)).replace(".0 ", " ")) : open ? clock(this.ctx.store.now() - started) : "");
  }
}

class UserView implements EntryView {
  readonly node = h("div", { class: "hm-you" });

  constructor(private readonly ctx: Context) {}

  update(entry: Entry): void {
    const e = entry as UserEntry;
    const turn = [...this.ctx.store.entries.values()].find((t): t is TurnEntry => t.kind === "turn" && t.turn === e.turn);
    const when = turn?.started && e.at >= turn.started && e.delivery !== "prompt" ? ` at ${clock(e.at - turn.started)}` : "";
    const verb = e.delivery === "steer" ? "You steered" : e.delivery === "follow_up" ? (e.status === "queued" ? "You queued a follow-up" : "Your follow-up") : "You";
    const fate = e.delivery === "prompt" && e.status !== "dropped" ? "" : e.status === "read" ? ", read by the agent" : e.status === "dropped" ? ", not delivered: the turn ended first"
      : e.delivery === "steer" && this.ctx.store.state.capabilities.steer_delivery !== "next_prompt" ? ", not read yet" : e.status === "queued" ? ", waits for the turn to end" : "";
    fill(this.node, icon(e.delivery === "prompt" ? "note" : "steer"), h("div", null,
      h("div", { class: "hm-you-by" }, `${verb}${when}${fate}`),
      h("div", { class: "hm-you-text" }, ...escaped(e.text, "prose")),
      e.attachments.length > 0 && h("div", { class: "hm-you-by" }, "with ", ...escaped(e.attachments.join(", "))),
      e.images.map((image) => picture(`data:${image.mime};base64,${image.data}`, "Image you sent"))));
  }
}

class QuestionView implements EntryView {
  readonly node: HTMLElement;
  private entry!: QuestionEntry;
  private readonly row = new Row((into) => {
    const { text, answer, choices, form, url, source } = this.entry;
    const labels = choices.map((c) => c.label || c.value);
    fill(into, h("div", { class: "hm-decided" }, ...escaped(text)), source && h("div", { class: "hm-decided" }, "Asked by ", ...label(source, 200)),
      url && h("div", { class: "hm-decided" }, "Address: ", h("code", null, ...escaped(url))),
      choices.length > 0 && h("div", { class: "hm-decided" }, "Offered: ", ...escaped(labels.join(", "))),
      form?.length > 0 && !answer && h("div", { class: "hm-decided" }, "Asked for: ", ...escaped(form.map((f) => f.title || f.name).join(", "))),
      answer && !url && h("div", { class: "hm-you-text hm-lines" }, ...escaped(answer)));
  });

  constructor(private readonly ctx: Context) { this.node = this.row.node; }

  update(entry: Entry): void {
    const e = this.entry = entry as QuestionEntry;
    const elsewhere = this.ctx.store.elsewhere.has(e.call_id) && e.by === "you";
    const fate = e.status === "answered" ? (e.by === "policy" ? "answered by policy" : elsewhere ? "answered in another window" : e.url ? "agreed" : "answered")
      : e.status === "withdrawn" ? "withdrawn by the agent" : e.status === "interrupted" ? "not answered" : e.status === "skipped" && e.url ? "declined" : e.status;
    const said = e.url ? "" : e.answer.trim().replace(/\n/g, ", ");
    this.row.set({ state: e.status === "waiting" ? "wait" : e.status === "answered" ? "done" : "off", verb: ["Question"],
      object: e.status === "answered" && said ? `${short(e.text, 120)} → ${short(said, 120)}` : short(e.text, 200), prose: true, status: "", meta: [h("span", null, fate)], detail: true });
    this.row.refresh();
  }
}

const ITEM: Record<string, [IconName, string]> = {
  done: ["check", "done"], completed: ["check", "done"], active: ["now", "now"], in_progress: ["now", "now"], cancelled: ["off", "cancelled"],
};

class PlanView implements EntryView {
  readonly node: HTMLElement;
  private entry!: PlanEntry;
  private readonly prose = new Markdown();
  private readonly row = new Row((into) => {
    const { items, markdown } = this.entry;
    this.prose.update(markdown ?? "", false);
    fill(into, markdown && this.prose.node, items.length > 0 && h("ul", { class: "hm-plan" }, items.map((item) => {
      const [glyph, word] = ITEM[item.status ?? ""] ?? ["todo", "to do"];
      const cancelled = word === "cancelled";
      return h("li", { class: word === "now" ? "hm-now" : cancelled && "hm-gone" }, icon(glyph),
        h("span", null, h("span", { class: "hm-sr" }, `${word}: `), h("span", null, ...escaped(item.text ?? "", "prose")),
          cancelled && h("span", { class: "hm-help" }, " cancelled"), !cancelled && word !== "done" && (item.priority === "high" || item.priority === "low") && h("span", { class: "hm-tag" }, item.priority)));
    })));
  });

  constructor() { this.node = this.row.node; }

  update(entry: Entry): void {
    this.entry = entry as PlanEntry;
    const { items, removed, markdown } = this.entry;
    const kept = items.filter((i) => i.status !== "cancelled");
    const done = kept.filter((i) => i.status === "done" || i.status === "completed").length;
    const open = !removed && (kept.length ? done < kept.length : !!markdown);
    this.row.set({ state: removed ? "off" : items.length && !open ? "done" : "plan", verb: ["Plan"], object: kept.length ? `${done} of ${kept.length} done` : "", prose: true,
      status: "", meta: [removed && h("span", null, "withdrawn by the agent")], detail: true });
    this.row.auto(open);
    this.row.refresh();
  }
}

class CompactionView implements EntryView {
  readonly node: HTMLElement;
  private entry!: CompactionEntry;
  private readonly row = new Row((into) => fill(into, h("div", { class: "hm-think" }, ...escaped(this.entry.error || this.entry.summary || "No summary was given.", "prose"))));

  constructor() { this.node = this.row.node; }

  update(entry: Entry): void {
    const e = this.entry = entry as CompactionEntry;
    this.row.set({ state: e.status === "running" ? "run" : e.status === "failed" ? "bad" : e.status === "done" ? "done" : "off",
      verb: [e.status === "running" ? "Summarising the conversation" : e.status === "failed" ? "Could not summarise the conversation" : e.status === "done" ? "Summarised the conversation" : "Summary interrupted"],
      object: "", status: "", meta: [e.status === "failed" ? h("span", { class: "hm-bad-text" }, "failed") : null], detail: true });
    this.row.refresh();
  }
}

class NoticeView implements EntryView {
  readonly node = h("div", { class: "hm-note", role: "note" });

  update(entry: Entry): void {
    const e = entry as NoticeEntry;
    const [first, ...rest] = e.text.split(/(?<=[.!?])\s+(?=\S)/);
    this.node.classList.toggle("hm-note-warn", e.level === "warning");
    this.node.classList.toggle("hm-note-bad", e.level === "error");
    let out: OutputView | null = null;
    if (e.detail) {
      out = new OutputView();
      out.update(e.detail, true);
    }
    fill(this.node, icon(e.level === "info" ? "info" : "warn"), h("div", null,
      h("b", null, ...inline(first ?? "")), rest.length > 0 && " ", ...inline(rest.join(" ")),
      out && (e.level === "error" ? out.node : h("details", { class: "hm-note-more" }, h("summary", null, "Details"), out.node))));
  }
}

class UnknownView implements EntryView {
  readonly node: HTMLElement;
  private entry!: UnknownEntry;
  private readonly row = new Row((into) => fill(into, h("div", { class: "hm-decided" }, "This version does not know this kind of message. It is kept as it came:"), valueBlock(pretty(this.entry.raw), "Message")));

  constructor() { this.node = this.row.node; }

  update(entry: Entry): void {
    this.entry = entry as UnknownEntry;
    this.row.set({ state: "note", verb: ["Unknown message"], object: this.entry.name, status: "", meta: [], detail: true });
    this.row.refresh();
  }
}

/** The last line of a turn that did not simply finish. */
class TurnView implements EntryView {
  readonly node = h("div", { class: "hm-end" });

  constructor(private readonly ctx: Context) {}

  update(entry: Entry): void {
    const e = entry as TurnEntry;
    this.node.hidden = e.status === "running" || (e.status === "finished" && e.stop_reason === "end_turn");
    if (this.node.hidden) return;
    const at = e.ended && e.started ? ` at ${clock(e.ended - e.started)}` : "";
    const words = e.status === "stopped" ? [e.error ? `This turn was stopped${at}.` : `You stopped this turn${at}.`, [e.error, this.leftovers(e.turn)].filter(Boolean).join(" ")]
      : e.status === "failed" ? [e.stop_reason === "agent_exited" ? `The agent stopped${at}.` : `The turn failed${at}.`, e.error]
      : [({ max_steps: "The agent reached its limit of steps.", max_tokens: "The answer reached its limit of tokens.", refusal: "The model refused to go on." } as Record<string, string>)[e.stop_reason ?? ""] ?? `Ended: ${e.stop_reason ?? "no reason given"}.`, e.error];
    fill(this.node, icon(e.status === "failed" ? "cross" : e.status === "stopped" ? "stop" : "info", e.status === "failed" ? "hm-glyph-bad" : ""),
      h("div", null, h("b", null, ...escaped(words[0] ?? "")), words[1] && " ", ...inline(words[1] ?? "")));
  }

  /** What the stop did, counted: "1 tool call interrupted, 1 approval withdrawn." */
  private leftovers(turn: number): string {
    let calls = 0, approvals = 0, dropped = 0;
    for (const e of this.ctx.store.entries.values()) {
      if (e.turn !== turn) continue;
      if (e.kind === "tool" && e.decision?.outcome === "interrupted") approvals += 1;
      else if (e.kind === "tool" && e.status === "interrupted") calls += 1;
      else if (e.kind === "user" && e.status === "dropped") dropped += 1;
    }
    const parts = [calls && plural(calls, "tool call") + " interrupted", approvals && plural(approvals, "approval") + " withdrawn", dropped && plural(dropped, "message") + " not delivered"];
    const text = parts.filter(Boolean).join(", ");
    return text ? `${text}.` : "";
  }
}

/** Entries of one run of reads and searches, as one row. */
export class GroupView {
  readonly node: HTMLElement;
  private readonly nest = h("div", { class: "hm-nest" });
  private readonly row = new Row((into) => { if (this.nest.parentElement !== into) fill(into, this.nest); });

  constructor() { this.node = this.row.node; }

  get body(): HTMLElement { return this.nest; }

  update(entries: { category: string; started: number | null; ended: number | null }[]): void {
    const reads = entries.filter((e) => e.category === "read").length;
    const searches = entries.length - reads;
    const times = (n: number) => (n === 1 ? "once" : n === 2 ? "twice" : `${n} times`);
    const verb: Child[] = [[reads && `read ${plural(reads, "file")}`, searches && `searched ${times(searches)}`].filter(Boolean).join(", ")];
    const text = String(verb[0]);
    const time = entries.reduce((n, e) => n + (e.started !== null && e.ended !== null ? e.ended - e.started : 0), 0);
    this.row.set({ state: "done", verb: [text.charAt(0).toUpperCase() + text.slice(1)], status: "finished", meta: [h("span", null, plural(entries.length, "step")), time > 0 && h("span", null, took(time))], detail: true });
    this.row.refresh();
  }
}

export function viewOf(entry: Entry, ctx: Context): EntryView {
  switch (entry.kind) {
    case "turn": return new TurnView(ctx);
    case "user": return new UserView(ctx);
    case "message": return new MessageView();
    case "thought": return new ThoughtView(ctx);
    case "tool": return new ToolRow(ctx);
    case "question": return new QuestionView(ctx);
    case "plan": return new PlanView();
    case "compaction": return new CompactionView();
    case "notice": return new NoticeView();
    default: return new UnknownView();
  }
}
