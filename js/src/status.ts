/** The status line: state, agent, model, mode, elapsed, tokens, cost, route, Stop. */
import type { Context } from "./context";
import { fill, h, say } from "./dom";
import { label } from "./escapes";
import { clock, cost, share, tokens } from "./format";
import { Button } from "./frame";
import { icon, spinner } from "./icons";
import { modelName } from "./paths";
import type { TurnEntry } from "./model";
import { type Ask, choices, Picker, Settings } from "./settings";

export class StatusLine {
  readonly node: HTMLElement;
  private readonly glyph = h("span", { class: "hm-glyph-box" });
  private readonly words = h("span");
  private readonly agent = h("li");
  private readonly model: Picker;
  private readonly mode: Picker;
  readonly settings: Settings;
  private readonly meter = h("li");
  private meterLook = "";
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
    const failed = (error: string) => { say(this.error, error); this.error.hidden = !error; };
    const ask: Ask = (wish, busy, done) => {
      busy(true);
      void ctx.send(wish).answer.then(({ ok, error }) => { busy(false); done(ok ? "" : error || "no reason was given"); });
    };
    this.model = new Picker("Model", ask, (model) => ({ type: "set_model", model }), failed);
    this.mode = new Picker("Mode", ask, (mode) => ({ type: "set_mode", mode }), failed);
    this.settings = new Settings(ctx, ask);
    this.stop = new Button("Stop", { cls: "hm-btn-s hm-stop", icon: "stop", onclick: () => this.abort() });
    this.stop.node.title = "Stop this turn (Shift Esc)";
    this.node = h("div", { class: "hm-status" }, h("span", { class: "hm-state", role: "status" }, this.glyph, this.words),
      h("ul", { class: "hm-list" }, this.agent, this.model.node, this.mode.node, this.settings.node, this.elapsed, this.meter, this.tokens, this.cost, this.route, this.error), this.stop.node);
  }

  abort(): void {
    if (!this.ctx.running || this.stop.node.disabled) return;
    const turn = this.ctx.store.state.turn;
    this.stop.words("Stopping");
    this.stop.off(true);
    // Held back for a slow route it must not stop a later turn.
    void this.ctx.send({ type: "abort" }, () => this.ctx.running && this.ctx.store.state.turn === turn).answer.then(({ ok, error }) => {
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
    const cut = this.ctx.cut;
    const [look, words] = this.state(offline);
    if (look !== this.look) {
      this.look = look;
      fill(this.glyph, look === "run" ? spinner() : look === "wait" ? icon("shield", "hm-glyph-wait") : look === "ask" ? icon("ask", "hm-glyph-run")
        : look === "bad" ? icon("cross", "hm-glyph-bad") : look === "stop" ? icon("stop", "hm-glyph") : look === "off" ? icon("plug", "hm-glyph") : icon("check", "hm-glyph"));
    }
    say(this.words, words);
    fill(this.agent, ...label(state.agent));
    this.agent.hidden = !state.agent;
    const open = !store.frozen && !offline && !cut && state.status !== "ended";
    const of = (category: string) => state.options?.find((o) => o.category === category && o.kind === "select");
    const model = this.turn?.model && store.frozen ? this.turn.model : state.model;
    this.model.update(model, choices("model", state.models, state.labels, of("model")), open && !!state.capabilities.set_model, (c) => c.label || modelName(c.value) || "default model");
    const all = state.approve === "all" || state.mode === "all";
    this.mode.update(state.mode, choices("mode", state.modes, state.labels, of("mode")), open && !!state.capabilities.set_mode, (c) => `mode: ${c.label || c.value}${all && c.value === state.mode ? ", nothing asks" : ""}`, all);
    this.settings.update(open || cut);
    this.drawMeter();
    const usage = this.turn && this.turn.status !== "running" ? this.turn.usage : state.usage;
    say(this.tokens, tokens(usage));
    if (state.spent) fill(this.cost, ...label(state.spent, 24), h("span", { class: "hm-sr" }, " spent"));
    else say(this.cost, cost(usage));
    for (const li of [this.tokens, this.cost]) li.hidden = !li.textContent;
    this.drawRoute(store.frozen || cut ? "none" : route, via);       // "live" is said of the kernel, and would be read of the agent
    this.stop.node.hidden = !this.ctx.running || store.frozen || link.gone;
    // Stop holds without the agent too: the kernel passes it on when it can, and a second one ends the turn at once.
    if (offline !== this.stop.node.disabled && this.stop.node.textContent?.includes("Stop") && !this.stop.node.textContent.includes("Stopping")) this.stop.off(offline);
    this.stop.node.title = cut ? "Stop this turn (Shift Esc). The agent hears of it when it can be reached; a second time ends the turn here" : "Stop this turn (Shift Esc)";
    this.error.hidden = !this.error.textContent;
    this.tick();
  }

  private state(offline: boolean): [string, string] {
    const { state } = this.ctx.store;
    const { pending, status } = state;
    const turn = this.turn;
    if (offline) return ["off", this.ctx.running ? `Last seen ${status === "waiting" ? "waiting for you" : "working"}` : "Offline"];
    if (!this.ctx.store.frozen) {
      if (status === "starting") return ["run", state.agent ? `Starting ${state.agent.slice(0, 24)}` : "Starting"];
      if (status === "waiting" || (status === "working" && pending.length)) return [pending.some((p) => p.kind === "approval") ? "wait" : "ask", "Waiting for you"];
      if (status === "working") return ["run", "Working"];
      if (status === "offline") return ["off", "Reconnecting"];
    }
    if (status === "ended" && turn?.status !== "finished") return [turn?.status === "failed" ? "bad" : "stop", turn?.status === "failed" ? "Failed" : turn ? "Stopped" : "Ended"];
    if (turn?.status === "failed") return ["bad", "Failed"];
    if (turn?.status === "stopped") return ["stop", "Stopped"];
    if (turn?.status === "finished") return ["ok", "Finished"];
    return status === "ended" ? ["stop", "Ended"] : ["ok", "Ready"];
  }

  /** How much of the model's context is in use, where the agent says how much there is. */
  private drawMeter(): void {
    const { context, context_size: size } = this.ctx.store.state;
    const known = typeof context === "number" && typeof size === "number" && size > 0;
    const percent = known ? Math.min(100, Math.max(0, Math.round((100 * context) / size))) : 0;
    const key = known ? `${percent} ${context} ${size}` : "";
    this.meter.hidden = !percent;
    if (key === this.meterLook || !known) return;
    this.meterLook = key;
    const fullness = h("span", { class: `hm-meter${percent >= 90 ? " hm-meter-full" : ""}`, "aria-hidden": "true" }, h("span"));
    (fullness.firstElementChild as HTMLElement).style.width = `${percent}%`;
    this.meter.title = `${share(context)} of ${share(size)} tokens of context in use`;
    fill(this.meter, fullness, `${percent} %${percent >= 90 ? " full" : ""}`, h("span", { class: "hm-sr" }, " of the context in use"));
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
