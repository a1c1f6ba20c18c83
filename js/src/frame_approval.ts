/** The frame that asks for leave: everything that will run or change, whole, then the decision. */
import { commandBlock, valueBlock } from "./command";
import type { Context } from "./context";
import { compare } from "./diff";
import { type Child, fill, h, uid } from "./dom";
import { escaped, findHidden, type Hidden, label, summarise } from "./escapes";
import { FileBox } from "./files";
import { plural, pretty, short } from "./format";
import { within } from "./paths";
import { Button, facts, Frame } from "./frame";
import { programs, shellParts } from "./shell";
import { icon } from "./icons";
import { inline, plain } from "./markdown";
import type { NoteWay, PendingApproval, ToolEntry } from "./model";
import { type Offer, offers } from "./options";
import { noteWay, restOf } from "./words";

/** How much of what waits (characters) is read out; the rest is read in the frame. */
const SPOKEN = 200;

export class ApprovalFrame extends Frame {
  private readonly allow = new Button("Allow once", { key: "Y", cls: "hm-btn-main hm-btn-allow", onclick: () => this.choose("y") });
  private readonly session = new Button("Allow for session", { key: "S", cls: "hm-wide hm-btn-allow", onclick: () => this.choose("s") });
  private readonly deny = new Button("Deny", { key: "N", onclick: () => this.choose("n") });
  /** The agent's own options; where it has some, they stand in place of our three buttons. */
  private readonly offers: Offer[];
  private readonly noteBox: HTMLInputElement;
  private readonly rule = h("div", { class: "hm-rule" });
  private readonly files: FileBox[];
  private readonly hidden: Hidden[];
  private readonly factsHolder = h("div");
  private readonly editFacts = h("dl", { class: "hm-facts" });
  private readonly noteHelp = h("span", { class: "hm-help" });
  private readonly noteRow = h("dl", { class: "hm-facts hm-facts-note" });

  constructor(ctx: Context, pending: PendingApproval) {
    super(ctx, pending, "wait", pending.diffs.length ? "pencil" : "shield");
    const caps = ctx.store.state.capabilities;
    this.hidden = hiddenIn(pending);
    const whole = pending.diffs.every((d) => !d.partial && d.new !== null);
    const tickable = pending.diffs.length > 0 && whole && caps.edits === true;
    this.files = pending.diffs.map((file) => new FileBox(file, { tickable, editable: !file.partial && file.new !== null }, () => this.draw()));
    this.noteBox = h("input", { class: "hm-in", id: uid(), placeholder: this.noteUse === "native" ? "Optional, sent with your choice" : "Optional, for a denial", autocomplete: "off", oninput: () => this.draw() });
    const lines = pending.command.replace(/\n$/, "").split("\n").length;
    this.setTitle(pending.diffs.length ? `Change ${plural(pending.diffs.length, "file")}?`
      : pending.command ? (lines > 1 ? `Run these ${lines} lines?` : "Run this command?") : "Allow this call?");
    this.fillBody(pending);
    this.offers = offers(pending.options, (offer) => this.take(offer));
    fill(this.buttons, this.gate(), this.rule);
    this.session.node.hidden = !this.offersSession;
  }

  private gate(): HTMLElement {
    const gap = h("span", { class: "hm-gap" });
    if (!this.offers.length) return h("div", { class: "hm-acts hm-acts-gate" }, this.allow.node, this.session.node, gap, this.deny.node);
    const safe = this.offers.filter((o) => !(o.lasts && o.allows && this.hidden.length));
    const denying = safe.filter((o) => o.denies).map((o) => o.button.node);
    if (!denying.length) denying.push(this.deny.node);                   // whatever an agent offers, one can say no
    return h("div", { class: `hm-acts hm-acts-gate${safe.length > 2 ? " hm-acts-many" : ""}` }, safe.filter((o) => !o.denies).map((o) => o.button.node), gap, denying);
  }

  private get approval(): PendingApproval { return this.pending as PendingApproval; }
  private get offersSession(): boolean { return this.approval.for_session && !this.hidden.length; }
  get announcement(): string {
    const p = this.approval;
    // The heading says how many lines there are: of many, a reader is told how they begin. The frame holds them whole.
    const [first = "", ...more] = p.command.trim().split("\n", 2);
    const what = p.command ? `${short(first, SPOKEN)}${more.length ? ", and so on" : ""}` : short(p.diffs.map((d) => d.path).join(", ") || p.summary || p.tool, SPOKEN);
    return `Waiting: ${this.heading} ${what}`;
  }

  private fillBody(p: PendingApproval): void {
    const found = this.hidden;
    const command = p.command.replace(/\n$/, "");
    const named = command ? programs(shellParts(command)) : [];
    const code = (text: string) => h("code", null, ...escaped(text));
    const list = (texts: string[]): Child[] => texts.flatMap((t, i) => (i ? [", ", code(t)] : [code(t)]));
    const rows: [Child, Child, string?][] = [];
    const asker = this.subAgent(p.call_id);
    if (asker) rows.push(["Sub-agent", label(asker, 200)]);
    // Paths below the folder that is named here are written relative to it, and the folder itself is not named twice.
    const base = p.cwd || this.ctx.store.state.root;
    const changed = new Set(p.diffs.map((d) => within(d.path, base)));
    const paths = p.paths.map((path) => within(path, base)).filter((path) => path !== "." && !changed.has(path));
    if (p.cwd || (base && (p.diffs.length || paths.some((path) => !p.paths.includes(path))))) rows.push([p.cwd && (command || !p.diffs.length) ? "Runs in" : "In", code(base)]);
    if (named.length > 1 || command.includes("\n")) rows.push(["Programs", named.flatMap(([name, n], i) => [i ? ", " : null, code(name), n > 1 ? ` (${n})` : null])]);
    if (paths.length) rows.push(["Touches", list(paths)]);
    // With options of its own the agent decides by itself when it asks, and what it writes is no word of ours (ACP).
    const why = p.options.length ? "" : p.reason;
    if (why || found.length) rows.push(["Asks because", [found.length > 0 && "hidden characters always ask, whatever the mode", found.length > 0 && why && "; ", why && inline(why, "strict")]]);
    if (p.options.length && p.reason) rows.push(["Agent says", inline(p.reason, "strict")]);
    if (this.summarySaysMore(p)) rows.push(["Agent says", h("div", { class: "hm-agent hm-quote" }, plain(p.summary))]);
    const shown = command ? ["command", "cmd", "cwd", "script"] : p.diffs.length ? ["content", "old", "new", "old_string", "new_string", "old_text", "new_text", "edits", "files", "diff", "patch"] : [];
    if (p.reason && (p.input as { description?: unknown } | null)?.description === p.reason) shown.push("description");  // it stands above
    // A file that stands above is not said again, whatever its agent calls it; anything else that is given stays.
    const above = p.diffs.length ? [...changed, ...paths] : [];
    const rest = restOf(p.input, shown, (key, text) => /^(?:\w*path|file_?name|file)$/i.test(key) && above.includes(within(text, base)));
    fill(this.body,
      found.length > 0 && h("div", { class: "hm-alert", role: "alert" }, icon("warn"), h("div", null,
        h("b", null, `${plural(found.length, "character")} here ${found.length === 1 ? "is" : "are"} invisible or look${found.length === 1 ? "s" : ""} like others.`),
        ` They are shown as escapes: ${summarise(found)}.`)),
      command && commandBlock(command),
      this.files.map((f) => f.node),
      !command && !p.diffs.length && facts([["Tool", code(p.tool || "not named")]]),
      rest !== null && h("div", { class: "hm-field" }, h("span", { class: "hm-help" }, command || p.diffs.length ? "Also given" : "Given, whole"), valueBlock(rest)),
      this.factsHolder);
    const withNote = this.noteUse !== "none";
    fill(this.noteRow, h("dt", { class: "hm-facts-in" }, h("label", { for: this.noteBox.id }, "Note to agent")), h("dd", null, this.noteBox, this.noteHelp));
    fill(this.factsHolder, facts(rows), this.editFacts,
      withNote && this.noteRow);
  }

  /** What the sub-agent is called that makes this call, "" when none does. */
  private subAgent(call: string): string {
    const calls = new Map<string, ToolEntry>();
    for (const e of this.ctx.store.entries.values()) if (e.kind === "tool") calls.set(e.call_id, e);
    const parent = calls.get(calls.get(call)?.parent || "");
    return parent ? parent.title || parent.name : "";
  }

  private get noteUse(): NoteWay { return noteWay(this.approval.deny_note, this.ctx.store.state.capabilities); }

  private summarySaysMore(p: PendingApproval): boolean {
    const flat = (s: string) => s.replace(/\s+/g, " ").trim();
    const said = flat(p.summary).replace(/^`([^`]*)`$/, "$1");            // a command in backticks is that command
    return !!said && !flat(p.command).includes(said) && said !== p.tool && !p.paths.includes(said) && !p.diffs.some((d) => d.path === said)
      && said !== p.diffs.map((d) => d.path).join(", ")
      && said !== flat(pretty(p.input));
  }

  protected lost(): void { this.noteBox.disabled = true; for (const f of this.files) f.node.inert = true; }

  protected foot(enabled: boolean, held: boolean): void {
    const caps = this.ctx.store.state.capabilities;
    const on = this.files.filter((f) => f.on);
    const edited = this.files.some((f) => f.edited && f.on);
    const note = this.noteBox.value.trim() !== "";
    const partial = this.files.length > 0 && on.length < this.files.length;
    const blocked = edited && !caps.edits;
    const nothing = this.files.length > 0 && !on.length;
    // Where the input line decides, it takes the note too.
    this.noteRow.hidden = this.ctx.link.state.route === "input" && !note;
    const danger = this.hidden.length > 0;
    const after = held ? " after the cell" : "";
    const withNote = note ? " with note" : "";
    const allowNote = this.noteUse === "native" ? "Allow with note" : "Allow without note";
    this.allow.words(danger ? `Allow anyway${after}` : edited && caps.edits ? `Allow with my edit${after}` : partial ? `Allow ${on.length} of ${plural(this.files.length, "file")}${after}`
      : held ? "Allow after the cell" : note ? allowNote : "Allow once");
    this.session.words(`${this.files.length ? "Allow edits for session" : "Allow for session"}${after}`);
    this.deny.words(blocked ? `Deny with my edit${after}` : `Deny${withNote}${after}`);
    const why = this.status.id;
    this.allow.off(!enabled || blocked || nothing, blocked || nothing ? this.editFactsId : why);
    this.session.off(!enabled || blocked || nothing, why);
    this.deny.off(!enabled, why);
    this.allow.main(!danger && !blocked && !held && enabled);
    this.deny.main((danger || blocked) && !held && enabled);
    for (const b of [this.allow, this.session, this.deny]) b.held(held);
    for (const o of this.offers) {
      o.button.off(!enabled || (!o.denies && (blocked || nothing)), blocked && !o.denies ? this.editFactsId : why);
      o.button.main(enabled && !held && o === this.first(danger || blocked ? "deny_once" : "allow_once"));
      o.button.held(held);
      o.button.tag([o.lasts && "lasts", !o.allows && !o.denies && "effect not known", danger && o.allows && "anyway", o.denies ? blocked ? "with my edit" : note && "with note" : note && this.noteUse !== "native" && "without note",
        held && "after the cell"].filter(Boolean).join(", "));
    }
    this.drawRule(edited || partial, on.length);
    this.drawEdits(edited, blocked, nothing, caps.edits === true);
    this.noteHelp.textContent = note && this.noteUse === "next_message" ? "This agent cannot read a note with your decision. A denial's note is sent as the next message, when this turn has ended." : "";
  }

  private readonly editFactsId = uid();
  private drawEdits(edited: boolean, blocked: boolean, nothing: boolean, canEdit: boolean): void {
    const off = this.files.filter((f) => !f.on).map((f) => f.file.path);
    const agent = label(this.ctx.store.state.agent || "This agent");
    const rows: [Child, Child][] = [];
    if (nothing) rows.push(["Not ticked", "No file is ticked: deny, or tick what may change."]);
    else if (off.length) rows.push(["Not ticked", [off.flatMap((p, i) => [i ? ", " : null, h("code", null, ...escaped(p))]), off.length === 1 ? " is" : " are", " left alone, and the agent is told so"]]);
    if (blocked) rows.push(["Your edit", [h("b", null, ...agent, " cannot apply it."), " Deny sends it your text as an instruction; Undo my edits to allow the original."]]);
    else if (edited && canEdit) rows.push(["Your edit", "is applied in place of the agent's, and the agent is told what you changed"]);
    this.editFacts.id = this.editFactsId;
    this.editFacts.hidden = !rows.length;
    fill(this.editFacts, rows.map(([a, b]) => [h("dt", null, a), h("dd", null, b)]));
  }

  private drawRule(changed: boolean, count: number): void {
    const p = this.approval;
    if (this.offers.length) {
      const lasting = this.offers.filter((o) => o.lasts);
      const safe = lasting.filter((o) => o.denies || !this.hidden.length);
      if (!this.rule.hasChildNodes()) fill(this.rule,
        lasting.length > safe.length && h("div", null, "No lasting permission is offered for a request with hidden characters."),
        safe.length > 0 && h("div", null, h("b", null, "What lasts"), " holds beyond this call, and may outlive this session: the agent keeps it.", p.rule && [" It covers ", h("code", null, ...escaped(p.rule)), "."]),
        this.offers.map((o) => o.whole && h("div", null, o.whole)));
    } else if (!this.offersSession) {
      fill(this.rule, this.hidden.length ? "No session rule is offered for a request with hidden characters." : "");
    } else {
      const name = this.files.length ? "Allow edits for session" : "Allow for session";
      const now = changed ? ` writes ${plural(count, "ticked file")} now and` : "";
      fill(this.rule, h("b", null, name), p.rule ? [`${now} adds the rule `, h("code", null, ...escaped(p.rule)), " until this session ends."] : `${now} allows calls like this one until this session ends. The agent does not say what counts as one.`);
    }
    this.rule.hidden = !this.rule.textContent;
  }

  key(key: string): boolean {
    const focus = document.activeElement;
    const file = this.files.find((f) => f.owns(focus));
    if (file && (key === "e" || (key === " " && !/^(?:BUTTON|INPUT)$/.test(focus?.tagName ?? "")))) return file.key(key);
    if (key === "y" || key === "s" || key === "n") { this.choose(key); return true; }
    return false;
  }

  /** Ctrl Enter in an edit box: Done. */
  override submit(area: Element): boolean {
    const file = this.files.find((f) => f.editor === area);
    file?.done();
    return !!file;
  }

  /** The one the key of a kind stands for. */
  private first(kind: "allow_once" | "deny_once"): Offer | undefined { return this.offers.find((o) => o.option.kind === kind); }

  private take(offer: Offer): void { this.send(offer.button, offer.allows, offer.option.kind === "allow_session", offer); }

  private choose(key: "y" | "s" | "n"): void {
    const offer = key === "s" ? undefined : this.first(key === "y" ? "allow_once" : "deny_once");
    if (offer) return this.take(offer);
    const button = { y: this.allow, s: this.session, n: this.deny }[key];
    if (button.node.isConnected) this.send(button, key !== "n", key === "s");
  }

  private send(button: Button, allow: boolean, session: boolean, offer?: Offer): void {
    if (button.node.disabled || button.node.hidden || !this.ready) return;
    const p = this.approval;
    const caps = this.ctx.store.state.capabilities;
    let note = this.noteUse === "none" || (allow && this.noteUse !== "native") ? "" : this.noteBox.value.trim();
    let edits: { path: string; content: string }[] | null = null;
    if (allow && this.files.some((f) => !f.on || f.edited)) edits = this.files.filter((f) => f.on).map((f) => ({ path: f.file.path, content: f.content }));
    if (!allow && !caps.edits && this.files.some((f) => f.edited)) {
      const texts = this.files.filter((f) => f.edited).map((f) => `Write ${f.file.path} like this instead:\n\n${f.content}`);
      note = [note, ...texts].filter(Boolean).join("\n\n");
    }
    const wish = { type: "approve" as const, request_id: p.request_id, allow, for_session: session, note, edits };
    if (offer) this.decide({ ...wish, option_id: offer.option.id }, "“", ...offer.name, "”");
    else this.decide(wish, allow ? (session ? "Allowed for session" : "Allowed") : "Denied");
  }
}

/** Hidden characters anywhere a person decides on, in what is added only where a file changes. */
function hiddenIn(p: PendingApproval): Hidden[] {
  const strict = [p.command, p.cwd, p.rule, ...p.options.map((o) => o.name), ...p.paths, ...p.diffs.map((d) => d.path), p.command || p.diffs.length ? "" : pretty(p.input)];
  const added = p.diffs.flatMap((d) => compare(d).hunks.flatMap((hunk) => hunk.lines.filter((l) => l.kind === "+").map((l) => l.text)));
  return [...strict.flatMap((t) => findHidden(t)), ...added.flatMap((t) => findHidden(t, "prose"))];
}
