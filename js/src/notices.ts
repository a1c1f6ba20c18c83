/** Sentences of the widget's own above the status line: the kernel is gone, the agent is gone, and the waiting bar. */
import type { Context } from "./context";
import { fill, h, say } from "./dom";
import { escaped } from "./escapes";
import { Button } from "./frame";
import { short } from "./format";
import { icon } from "./icons";

export class Notices {
  readonly node = h("div");
  private key = "";

  constructor(private readonly ctx: Context) {}

  update(): void {
    const { store, link } = this.ctx;
    const offline = link.state.route === "offline" && !store.frozen;
    // A turn that failed because the agent stopped has said so in the log.
    const told = [...store.entries.values()].some((e) => e.kind === "turn" && e.stop_reason === "agent_exited");
    const ended = store.state.status === "ended" && !store.frozen && !told ? store.state.ended : "";
    const seconds = offline && link.state.reconnectAt ? Math.max(0, Math.ceil((link.state.reconnectAt - Date.now()) / 1000)) : 0;
    const gone = this.ctx.link.gone && offline;
    const cut = this.ctx.cut && !offline ? store.state.link || "The connection was lost." : "";
    const key = `${offline}${gone}${seconds}${ended}${cut}`;
    if (key === this.key) return;
    this.key = key;
    fill(this.node,
      gone && h("div", { class: "hm-note hm-note-warn", role: "status" }, icon("plug"), h("div", null,
        h("b", null, "The kernel was restarted, and this session ended with it."), " What the agent had changed stays. To begin anew, run the cell that starts the session, then this one.")),
      offline && !gone && h("div", { class: "hm-note hm-note-warn", role: "status" }, icon("plug"), h("div", null,
        h("b", null, seconds ? `Reconnecting to the kernel, ${seconds} s.` : "The kernel does not answer."),
        " If it still runs, the agent keeps working, and what it says appears here afterwards. If the kernel was restarted, run the cell again.")),
      cut && h("div", { class: "hm-note hm-note-warn", role: "status" }, icon("run", "hm-spin"), h("div", null,
        h("b", null, "Connection lost, reconnecting…"), " ", h("span", { class: "hm-agent" }, ...escaped(short(cut, 300).replace(/[^.!?…]$/, "$&."), "prose")), " What is shown here stays, and what the agent said meanwhile follows.")),
      ended && h("div", { class: "hm-note", role: "status" }, icon("info"), h("div", null, h("b", null, "This session is over."), " ", ...escaped(ended, "prose"))));
  }
}

/** Shown while a frame that waits is out of view, or two wait. */
export class WaitBar {
  readonly node: HTMLElement;
  private readonly words = h("span");

  constructor(go: () => void) {
    const button = new Button("Go to first", { key: "Alt ↑", cls: "hm-btn-s", onclick: go });
    this.node = h("div", { class: "hm-waitbar" }, icon("shield"), this.words, h("span", { class: "hm-acts" }, button.node));
    this.node.hidden = true;
  }

  update(count: number, outOfView: boolean): void {
    this.node.hidden = !(count > 1 || (count === 1 && outOfView));
    say(this.words, count === 1 ? "1 waits for you" : `${count} wait for you`);
  }
}
