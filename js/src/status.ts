/** The status line: state, agent, model, mode, elapsed, tokens, cost, route, Stop. */
import type { Context } from "./context";
import { fill, h, say } from "./dom";
import { label } from "./escapes";
import { clock, cost, tokens } from "./format";
import { Button } from "./frame";
import { icon, spinner } from "./icons";
import { modelName } from "./paths";
import type { TurnEntry } from "./model";

/** A menu of the state's own: native, so that it works with keys and readers and never moves the page. */
class Picker {
  readonly node = h("li", { class: "hm-li" });
  private shown = "";

  constructor(private readonly name: string, private readonly choose: (value: string) => void) {}

  update(value: string, values: string[], may: boolean, words: (v: string) => string, all = false): void {
    const key = JSON.stringify([value, values, may, all]);
    if (key === this.shown) return;
    this.shown = key;
    this.node.hidden = !value && !(may && values.length);
    if (!may || values.length < 2) {
      fill(this.node, h("span", { class: all && "hm-pick hm-pick-all" }, ...label(words(value), 40)));
      return;
    }
    const list = values.includes(value) ? values : [value, ...values];
    const select = h("select", { class: `hm-pick${all ? " hm-pick-all" : ""}`, "aria-label": this.name, onchange: () => this.choose(select.value) },
      list.map((v) => h("option", { value: v, selected: v === value }, words(v))));
    fill(this.node, select, icon("chev"));
  }
}

export class StatusLine {
  readonly node: HTMLElement;
  private readonly glyph = h("span", { class: "hm-glyph-box" });
  private readonly words = h("span");
  private readonly agent = h("li");
  private readonly model: Picker;
  private readonly mode: Picker;
  private readonly elapsed = h("li", { "aria-hidden": "true" });
  private readonly tokens = h("li", { "aria-hidden": "true" });
  private readonly cost = h("li", { "aria-hidden": "true" });
  private readonly route = h("li");
  private readonly stop: Button;
  private readonly error = h("li", { class: "hm-bad-text" });
  private turn: TurnEntry | null = null;
  private look = "";
  private routeLook = "";

  constructor(private readonly ctx: Context) {
    const failed = ({ ok, error }: { ok: boolean; error: string }) => say(this.error, ok ? "" : error);
    this.model = new Picker("Model", (model) => void ctx.send({ type: "set_model", model }).answer.then(failed));
    this.mode = new Picker("Mode", (mode) => void ctx.send({ type: "set_mode", mode }).answer.then(failed));
    this.stop = new Button("Stop", { cls: "hm-btn-s hm-stop", icon: "stop", onclick: () => this.abort() });
    this.stop.node.title = "Stop this turn (Shift Esc)";
    this.node = h("div", { class: "hm-status" }, h("span", { class: "hm-state", role: "status" }, this.glyph, this.words),
      h("ul", { class: "hm-list" }, this.agent, this.model.node, this.mode.node, this.elapsed, this.tokens, this.cost, this.route, this.error), this.stop.node);
  }

  private get running(): boolean {
    const { status } = this.ctx.store.state;
    return status === "working" || status === "waiting";
  }

  abort(): void {
    if (!this.running || this.stop.node.disabled) return;
    const turn = this.ctx.store.state.turn;
    this.stop.words("Stopping");
    this.stop.off(true);
    // Held back for a slow route it must not stop a later turn.
    void this.ctx.send({ type: "abort" }, () => this.running && this.ctx.store.state.turn === turn).answer.then(({ ok, error }) => {
      this.stop.words("Stop");
      this.stop.off(false);
      if (!ok) say(this.error, error);
    });
  }

  update(): void {
    const { store, link } = this.ctx;
    const { state } = store;
    const turns = [...store.entries.values()].filter((e): e is TurnEntry => e.kind === "turn" && this.ctx.shows(e.turn));
    this.turn = turns.at(-1) ?? null;
    const { route, via } = link.state;
    const offline = route === "offline" && !store.frozen;
    const [look, words] = this.state(offline);
    if (look !== this.look) {
      this.look = look;
      fill(this.glyph, look === "run" ? spinner() : look === "wait" ? icon("shield", "hm-glyph-wait") : look === "ask" ? icon("ask", "hm-glyph-run")
        : look === "bad" ? icon("cross", "hm-glyph-bad") : look === "stop" ? icon("stop", "hm-glyph") : look === "off" ? icon("plug", "hm-glyph") : icon("check", "hm-glyph"));
    }
    say(this.words, words);
    fill(this.agent, ...label(state.agent));
    this.agent.hidden = !state.agent;
    const open = !store.frozen && !offline && state.status !== "ended";
    this.model.update(this.turn?.model && store.frozen ? this.turn.model : state.model, state.models, open && !!state.capabilities.set_model, (v) => modelName(v) || "default model");
    const all = state.approve === "all" || state.mode === "all";
    this.mode.update(state.mode, state.modes, open && !!state.capabilities.set_mode, (v) => `mode: ${v}${all && v === state.mode ? ", nothing asks" : ""}`, all);
    const usage = this.turn && this.turn.status !== "running" ? this.turn.usage : state.usage;
    say(this.tokens, tokens(usage));
    say(this.cost, cost(usage));
    for (const li of [this.tokens, this.cost]) li.hidden = !li.textContent;
    this.drawRoute(store.frozen ? "none" : route, via);
    this.stop.node.hidden = !this.running || store.frozen || link.gone;
    if (offline !== this.stop.node.disabled && this.stop.node.textContent?.includes("Stop") && !this.stop.node.textContent.includes("Stopping")) this.stop.off(offline);
    this.error.hidden = !this.error.textContent;
    this.tick();
  }

  private state(offline: boolean): [string, string] {
    const { state } = this.ctx.store;
    const { pending, status } = state;
    const turn = this.turn;
    if (offline) return ["off", this.running ? `Last seen ${status === "waiting" ? "waiting for you" : "working"}` : "Offline"];
    if (!this.ctx.store.frozen) {
      if (status === "starting") return ["run", state.agent ? `Starting ${state.agent.slice(0, 24)}` : "Starting"];
      if (status === "waiting" || (status === "working" && pending.length)) return [pending.some((p) => p.kind === "approval") ? "wait" : "ask", "Waiting for you"];
      if (status === "working") return ["run", "Working"];
      if (status === "offline") return ["off", "Offline"];
    }
    if (status === "ended" && turn?.status !== "finished") return [turn?.status === "failed" ? "bad" : "stop", turn?.status === "failed" ? "Failed" : turn ? "Stopped" : "Ended"];
    if (turn?.status === "failed") return ["bad", "Failed"];
    if (turn?.status === "stopped") return ["stop", "Stopped"];
    if (turn?.status === "finished") return ["ok", "Finished"];
    return status === "ended" ? ["stop", "Ended"] : ["ok", "Ready"];
  }

  private drawRoute(route: string, via: string): void {
    const key = `${route}${via}`;
    if (key === this.routeLook) return;
    this.routeLook = key;
    this.route.className = route === "live" || route === "connecting" ? "" : "hm-bad-text";
    this.route.hidden = route === "none";
    this.route.title = route === "live" ? `Clicks reach the agent at once, ${via === "control" ? "through the notebook server" : "through the kernel"}`
      : route === "after_cell" ? "Clicks are handled when the running cell ends" : route === "input" ? "Decide in the input line below the cell" : route === "offline" ? "The kernel does not answer" : "Looking for a way to the kernel";
    if (route === "live") fill(this.route, icon("live"), h("span", { class: "hm-meta-x" }, "live"));
    else if (route === "after_cell" || route === "input") fill(this.route, icon("clock"), "clicks wait");
    else if (route === "offline") fill(this.route, icon("plug"), "offline");
    else fill(this.route, icon("live"), h("span", { class: "hm-meta-x" }, "connecting"));
  }

  tick(): void {
    const t = this.turn;
    say(this.elapsed, !t || !t.started ? "" : clock((t.ended ?? this.ctx.store.now()) - t.started));
    this.elapsed.hidden = !this.elapsed.textContent;
  }
}
