import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { controlUrl } from "../src/link";
import { newId } from "../src/model";
import { FakeSocket, kernel } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const abort = () => ({ type: "abort", id: newId() }) as const;
const URL_ = "ws://lab/hm_jupyter/control/k1";
const socket = () => FakeSocket.made.at(-1) as FakeSocket;

beforeEach(() => { vi.useFakeTimers(); FakeSocket.made = []; });
afterEach(() => { vi.useRealTimers(); });

describe("which route is live", () => {
  it("says hello on the comm at once and does not know yet", () => {
    const k = kernel({ answers: false });
    k.link.start();
    expect(k.comm[0]).toEqual({ t: "hello", view: "v1" });
    expect(k.link.state.route).toBe("connecting");
  });

  it("is live by the control channel when that answers a ping", async () => {
    const k = kernel({ control: URL_, answers: false });
    k.link.start();
    socket().open();
    expect(k.link.state.route).toBe("connecting");
    socket().pong();
    expect(k.link.state).toMatchObject({ route: "live", via: "control" });
  });

  it("is live by the comm when only that answers", async () => {
    const k = kernel();
    k.link.start();
    await wait(10);
    expect(k.link.state).toMatchObject({ route: "live", via: "comm" });
  });

  it("says after_cell when neither answers, and live again when the cell ends", async () => {
    const k = kernel({ answers: false });
    k.link.start();
    await wait(3000);
    expect(k.link.state.route).toBe("after_cell");
    k.pong();
    expect(k.link.state.route).toBe("live");
  });

  it("asks the comm at once when the control channel is lost, though an earlier ping was never answered", async () => {
    const k = kernel({ control: URL_, answers: false });
    k.link.start();
    const asked = () => k.comm.filter((m) => (m as { t: string }).t === "ping").length;
    expect(asked()).toBe(1);
    socket().open();
    socket().pong();
    await wait(100);
    socket().close();
    expect(asked()).toBe(2);
    k.pong();
    expect(k.link.state).toMatchObject({ route: "live", via: "comm" });
  });

  it("says input while the cell's input line decides", async () => {
    const k = kernel({ answers: false });
    k.link.start();
    k.say({ t: "route", waiting_cell: true, stdin: true });
    await wait(3000);
    expect(k.link.state.route).toBe("input");
    k.say({ t: "route", waiting_cell: true, stdin: false });
    expect(k.link.state.route).toBe("after_cell");
  });

  it("is offline for good once the kernel restarts: nothing is sent, nobody is called, what was held is given back", async () => {
    const k = kernel({ control: URL_, answers: false });
    k.link.start();
    socket().open();
    await wait(100);
    const held = k.link.send(abort());
    k.link.kernelRestarted();
    expect(await held).toEqual({ ok: false, error: "The kernel was restarted." });
    expect(k.link).toMatchObject({ gone: true, state: { route: "offline", reconnectAt: 0 } });
    const [sent, called] = [k.comm.length, FakeSocket.made.length];
    await wait(60_000);
    expect([k.comm.length, FakeSocket.made.length]).toEqual([sent, called]);
    expect(k.link.state.route).toBe("offline");
  });

  it("says offline when the comm is closed or the host says the kernel is dead", async () => {
    const k = kernel();
    k.link.start();
    await wait(10);
    k.link.commGone();
    expect(k.link.state.route).toBe("offline");
    let state: "" | "dead" = "";
    const other = kernel({ state: () => state });
    other.link.start();
    await wait(10);
    state = "dead";
    await wait(600);
    expect(other.link.state.route).toBe("offline");
  });

  it("never leaves more than one comm ping unanswered for long", async () => {
    const k = kernel({ answers: false });
    k.link.start();
    await wait(60_000);
    expect(k.comm.filter((m) => m["t"] === "ping").length).toBeLessThanOrEqual(6);
  });

  it("falls back to the comm when the control channel stops answering, and reconnects", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    socket().open();
    socket().pong();
    await wait(10_000);                      // the next heartbeat is not answered
    expect(k.link.state).toMatchObject({ route: "live", via: "comm" });
    expect(FakeSocket.made.length).toBeGreaterThan(1);
    socket().open();
    socket().pong();
    expect(k.link.state.via).toBe("control");
  });

  it("backs off when the server has no extension", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    for (let i = 0; i < 100; i += 1) {
      if (socket().readyState === 0) socket().close();
      await wait(1_000);
    }
    expect(FakeSocket.made.length).toBeLessThan(8);
    expect(k.link.state).toMatchObject({ route: "live", via: "comm" });
  });

  it("stops everything when closed", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    k.link.close();
    const sent = k.comm.length;
    await wait(60_000);
    expect(k.comm.length).toBe(sent);
    expect(FakeSocket.made.length).toBe(1);
  });
});

describe("commands", () => {
  it("go by the control channel when it is live, and not by the comm", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    socket().open();
    socket().pong();
    const command = abort();
    const answer = k.link.send(command);
    expect(socket().commands()).toEqual([command]);
    expect(k.commands()).toEqual([]);
    socket().receive({ t: "ack", id: command.id, ok: true, error: "" });
    expect(await answer).toEqual({ ok: true, error: "" });
  });

  it("are sent again by the comm with the same id when the control channel dies before the ack", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    socket().open();
    socket().pong();
    const command = abort();
    void k.link.send(command);
    socket().close();
    await wait(1_500);
    expect(k.commands()).toEqual([command]);
    k.say({ t: "ack", id: command.id, ok: true });
    await wait(10_000);
    expect(k.commands()).toEqual([command]);
  });

  it("go by the comm too when the control channel takes them and says nothing", async () => {
    const k = kernel({ control: URL_ });
    k.link.start();
    socket().open();
    socket().pong();
    void k.link.send(abort());
    await wait(2_600);
    expect(k.commands().length).toBe(1);
    expect(k.commands()[0]?.id).toBe(socket().commands()[0]?.id);
  });

  it("are sent again on the comm only when a later ping was answered and they were not", async () => {
    const k = kernel();
    k.link.start();
    await wait(10);
    void k.link.send(abort());
    await wait(900);
    expect(k.commands().length).toBe(1);
    await wait(4_000);                       // a ping was answered in the meantime: the command is lost
    expect(k.commands().length).toBeGreaterThan(1);
    expect(new Set(k.commands().map((c) => c.id)).size).toBe(1);
  });

  it("are held while nothing answers, can be taken back, and are sent when the cell ends", async () => {
    const k = kernel({ answers: false });
    k.link.start();
    await wait(3_000);
    const first = abort();
    const second = abort();
    const answer = k.link.send(first);
    void k.link.send(second);
    expect(k.commands()).toEqual([]);
    expect(k.link.isHeld(first.id)).toBe(true);
    expect(k.link.takeBack(first.id)).toBe(true);
    expect(await answer).toMatchObject({ ok: false });
    k.pong();
    expect(k.commands()).toEqual([second]);
    expect(k.link.takeBack(second.id)).toBe(false);
  });

  it("held for a request that is gone are never sent", async () => {
    const k = kernel({ answers: false });
    k.link.start();
    await wait(3_000);
    let waits = true;
    const answer = k.link.send(abort(), () => waits);
    waits = false;
    k.pong();
    expect((await answer).ok).toBe(false);
    expect(k.commands()).toEqual([]);
  });

  it("refused by the kernel say why", async () => {
    const k = kernel();
    k.link.start();
    await wait(10);
    const command = abort();
    const answer = k.link.send(command);
    k.say({ t: "ack", id: command.id, ok: false, error: "That call is not waiting." });
    expect(await answer).toEqual({ ok: false, error: "That call is not waiting." });
  });

  it("ignore acknowledgements of other views' commands", () => {
    const k = kernel();
    k.say({ t: "ack", id: "someone-else", ok: true });
    expect(k.link.isHeld("someone-else")).toBe(false);
  });
});

describe("the control channel's address", () => {
  const page = (config: unknown) => {
    const d = new DOMParser().parseFromString(`<script id="jupyter-config-data" type="application/json">${JSON.stringify(config)}</script>`, "text/html");
    return [d, "https://lab.example.org/user/me/lab/tree/a.ipynb"] as const;
  };
  it("comes from JupyterLab's page config", () => {
    expect(controlUrl("k1", ...page({ baseUrl: "/user/me/", token: "" }))).toBe("wss://lab.example.org/user/me/hm_jupyter/control/k1");
    expect(controlUrl("k1", ...page({ baseUrl: "/", token: "t k" }))).toBe("wss://lab.example.org/hm_jupyter/control/k1?token=t+k");
    expect(controlUrl("k1", ...page({ baseUrl: "/", wsUrl: "ws://other:9/base" }))).toBe("ws://other:9/base/hm_jupyter/control/k1");
  });
  it("is empty where there is no page config, no id, or an id that is none", () => {
    expect(controlUrl("k1", document)).toBe("");
    expect(controlUrl("", ...page({ baseUrl: "/" }))).toBe("");
    expect(controlUrl("../../api", ...page({ baseUrl: "/" }))).toBe("");
  });
});
