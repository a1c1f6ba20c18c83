// The widget outside Jupyter: a fake anywidget model that answers like a kernel, and scenes to show with it.
import widget from "/widget.js";

/** `behaviour`: route (live | input | after_cell | offline), frozen. Commands are kept in `sent`. */
export function fakeModel(scene, behaviour = {}) {
  const listeners = {};
  const sent = [];
  const traits = { view_id: `v${Math.random()}`, control_id: "", turn: behaviour.turn ?? scene.turn, boot: { ...scene.start, ...(behaviour.frozen ? { frozen: true } : {}) } };
  const model = {
    sent,
    widget_manager: {},
    get: (name) => traits[name],
    set: () => {}, save_changes: () => {},
    on: (event, callback) => { (listeners[event] ??= []).push(callback); },
    off: (event, callback) => { listeners[event] = (listeners[event] ?? []).filter((c) => c !== callback); },
    emit: (event, ...args) => { for (const c of listeners[event] ?? []) c(...args); },
    receive: (message) => model.emit("msg:custom", message, []),
    send: (message) => {
      sent.push(message);
      const route = behaviour.route ?? "live";
      if (route !== "live") return;
      queueMicrotask(() => {
        if (message.t === "ping") model.receive({ t: "pong", n: message.n });
        if (message.t === "command" && !behaviour.silent) model.receive({ t: "ack", id: message.command.id, ok: true, error: "" });
      });
    },
  };
  return model;
}

export function show(el, scene, behaviour = {}) {
  const model = fakeModel(scene, { ...scene.route, ...behaviour });
  const stop = new AbortController();
  widget.initialize({ model, signal: stop.signal });
  if ((behaviour.route ?? scene.route?.route) === "input") model.receive({ t: "route", waiting_cell: true, stdin: true });
  if ((behaviour.route ?? scene.route?.route) === "offline") model.emit("comm:close");
  widget.render({ model, el, signal: stop.signal });
  if (!behaviour.hold) for (const batch of scene.batches) model.receive(batch);
  // What a person does in the scene: press a button, write in the box.
  if (scene.route?.press) requestAnimationFrame(() => [...el.querySelectorAll("button")].find((b) => b.textContent.startsWith(scene.route.press))?.click());
  if (scene.route?.write) requestAnimationFrame(() => {
    const box = el.querySelector(".hm-composer textarea");
    box.focus();
    box.value = scene.route.write;
    box.dispatchEvent(new Event("input"));
  });
  return { model, stop: () => stop.abort() };
}

window.hm = { show, fakeModel, widget };
