/** What every frame shares: its box, the guard against clicks that were meant for something else, sending, and what
 * the foot says when a click is not instant. What is decided is the business of frame_approval and frame_question. */
import type { Context, Wish } from "./context";
import { type Child, fill, h, say, uid } from "./dom";
import { label } from "./escapes";
import { clock } from "./format";
import { icon, type IconName } from "./icons";
import type { Pending } from "./model";

/** Clicks and keys within this time (ms) of a frame's arrival, or of its moving under the pointer, do nothing. */
export const GUARD = 400;

export interface ButtonOptions { key?: string; cls?: string; icon?: IconName; onclick: () => void }

/** A button whose words change and whose place does not. */
export class Button {
  readonly node: HTMLButtonElement;
  private readonly text = h("span");
  private readonly mark = h("span", { class: "hm-tag" });
  private readonly clock = icon("clock", "hm-held-icon");

  constructor(words: string, options: ButtonOptions) {
    this.node = h("button", { class: `hm-btn ${options.cls ?? ""}`.trim(), type: "button", onclick: options.onclick },
      options.icon && icon(options.icon), this.text, this.mark, options.key && h("kbd", { "aria-hidden": "true" }, options.key));
    if (options.key) this.node.setAttribute("aria-keyshortcuts", options.key);
    this.words(words);
    this.tag("");
  }

  words(text: string): void { say(this.text, text); }
  /** A name that is not ours, instead of our words; `role` says to readers what it is. */
  name(name: Child[], role: string): void { fill(this.text, role && h("span", { class: "hm-sr" }, role), name); }
  /** What we say of it, apart from its name. */
  tag(text: string): void { say(this.mark, text); this.mark.hidden = !text; }
  /** Disabled, with the id of the element that says why. */
  off(off: boolean, why = ""): void {
    this.node.disabled = off;
    if (off && why) this.node.setAttribute("aria-describedby", why);
    else this.node.removeAttribute("aria-describedby");
  }
  main(main: boolean): void { this.node.classList.toggle("hm-btn-main", main); }
  held(held: boolean): void {
    this.node.classList.toggle("hm-btn-held", held);
    if (held) this.node.prepend(this.clock);
    else this.clock.remove();
  }
}

export abstract class Frame {
  readonly node: HTMLElement;
  protected readonly body = h("div", { class: "hm-frame-body" });
  protected readonly buttons = h("div", { class: "hm-frame-acts" });
  protected readonly status = h("div", { class: "hm-frame-status", id: uid() });
  private readonly title = h("span", { class: "hm-title", id: uid() });
  private readonly place = h("span");
  private readonly agent = h("span", { class: "hm-meta-x" });
  private readonly waiting = h("span", { "aria-hidden": "true" });
  private armed = Date.now() + GUARD;
  /** The decision taken here: its command's id and how to call it. */
  protected sent: { id: string; word: Child[] } | null = null;
  protected error = "";

  constructor(protected readonly ctx: Context, protected pending: Pending, kind: "wait" | "ask", glyph: IconName) {
    this.status.hidden = true;
    this.node = h("section", { class: `hm-frame hm-frame-${kind}`, role: "group", tabindex: -1, "aria-labelledby": this.title.id },
      h("div", { class: "hm-frame-head" }, icon(glyph), this.title, h("span", { class: "hm-meta" }, this.place, this.agent, this.waiting)),
      this.body, h("div", { class: "hm-frame-foot" }, this.status, this.buttons));
  }

  protected setTitle(text: string): void { say(this.title, text); }
  get heading(): string { return this.title.textContent ?? ""; }
  get callId(): string { return this.pending.call_id; }
  get requestId(): string { return this.pending.request_id; }
  /** The words a screen reader is told once. */
  abstract get announcement(): string;
  /** A key pressed in the frame and in no field of it. True when it meant something. */
  abstract key(key: string): boolean;
  /** Ctrl Enter, in whatever has the focus. True when it meant something. */
  submit(_from: Element): boolean { return false; }
  protected abstract foot(enabled: boolean, held: boolean): void;
  /** Nobody is there to be told any more: fields take nothing. */
  protected abstract lost(): void;

  update(pending: Pending, index: number, count: number): void {
    this.pending = pending;
    say(this.place, count > 1 ? `${index + 1} of ${count}` : "");
    this.place.hidden = count < 2;
    fill(this.agent, ...label(this.ctx.store.state.agent));
    this.tick();
    this.draw();
  }

  tick(): void { if (this.pending.since) say(this.waiting, `waiting ${clock(this.ctx.store.now() - this.pending.since)}`); }

  /** The frame moved under the pointer: what is pressed now was meant for what was there before. */
  rearm(): void { this.armed = Date.now() + GUARD; }
  /** It stood still long enough for a click to be meant for it. */
  protected get settled(): boolean { return Date.now() >= this.armed; }
  protected get ready(): boolean {
    return this.settled && !this.sent && this.pending.state === "waiting" && this.canClick && !this.ctx.cut;
  }
  private get canClick(): boolean {
    const { route } = this.ctx.link.state;
    return !this.ctx.store.frozen && (route === "live" || route === "connecting" || route === "after_cell");
  }

  protected decide(wish: Wish, ...word: Child[]): void {
    if (!this.ready) return;
    this.error = "";
    const waits = () => this.ctx.store.state.pending.some((p) => p.request_id === this.pending.request_id);
    const { id, answer } = this.ctx.send(wish, waits);
    this.sent = { id, word };
    void answer.then(({ ok, error }) => {
      if (ok || this.sent?.id !== id) return;
      this.sent = null;
      this.error = error === "Taken back." ? "" : error;
      this.ctx.store.mine.delete(this.pending.request_id);
      this.draw();
    });
    this.draw();
    if (this.buttons.contains(document.activeElement) || this.buttons.hidden) this.keepFocus();
  }

  /** A button that had the focus is gone: the frame has it, so that keys still work. Never taken from elsewhere. */
  private keepFocus(): void {
    if (this.node.contains(document.activeElement)) this.node.focus({ preventScroll: true });
  }

  /** Draw the foot again. */
  draw(): void {
    const { route } = this.ctx.link.state;
    const held = route === "after_cell";
    if (this.ctx.link.gone) {
      this.buttons.hidden = true;
      this.lost();
      this.note("plug", [h("b", null, "This was not decided."), " The kernel was restarted, and the agent that asked is gone."], null, "gone");
      return;
    }
    const sending = !!this.sent || this.pending.state === "sending";
    if (sending) {
      this.buttons.hidden = true;
      if (this.sent && this.ctx.link.isHeld(this.sent.id) && held) {
        const id = this.sent.id;
        this.note("clock", [h("b", null, "You chose: ", ...this.sent.word, "."), " It is not sent yet: this kernel hears clicks only between cells. It is sent when the running cell ends."],
          h("button", { class: "hm-btn hm-btn-s", type: "button", onclick: () => this.ctx.link.takeBack(id) }, "Take back"), `held${id}`);
      } else this.note("run", [...(this.sent?.word ?? ["Decided in another place"]), ", sending"], null, "sending");
      return;
    }
    this.buttons.hidden = false;
    if (route === "input") {
      this.note("clock", [h("b", null, "Decide in the input line below."), " While its cell runs, this kernel cannot see clicks, and the server has no hm extension (", h("code", null, "pip install hm_jupyter"), " where the server runs)."], null, "input");
    } else if (route === "offline") {
      this.note("plug", [h("b", null, "The kernel does not answer."), " What you choose could not be sent now."], null, "offline");
    } else if (this.ctx.cut) {
      this.note("plug", [h("b", null, "The agent cannot be reached."), " You can decide when the connection is there again."], null, "cut");
    } else if (held) {
      this.note("clock", [h("b", null, "Clicks wait for the running cell."), " This kernel sees clicks only between cells. The agent waits too."], null, "cell");
    } else if (this.error) {
      this.note("warn", [h("b", null, "That was not accepted."), " ", this.error], null, `error${this.error}`);
    } else this.note("info", null, null, "");
    this.foot(route !== "input" && route !== "offline" && !this.ctx.cut, held);
  }

  private noted = "";
  private note(glyph: IconName, words: Child[] | null, action: Node | null, key: string): void {
    if (key === this.noted) return;
    this.noted = key;
    if (!words) fill(this.status);
    else if (glyph === "run") fill(this.status, h("div", { class: "hm-sending", role: "status" }, icon("run", "hm-spin hm-glyph-run"), h("span", null, ...words)));
    else fill(this.status, h("div", { class: "hm-note hm-note-warn", role: "status" }, icon(glyph), h("div", null, ...words), action && h("div", { class: "hm-acts" }, action)));
    this.status.hidden = !words;
  }
}

export function facts(rows: [Child, Child, string?][]): HTMLElement {
  return h("dl", { class: "hm-facts" }, rows.map(([name, value, cls]) => [h("dt", { class: cls }, name), h("dd", null, value)]));
}
