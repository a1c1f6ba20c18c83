import { describe, expect, it } from "vitest";
import { replaceOutputs } from "../src/saved";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const list = <T>(items: T[]) => ({ length: items.length, get: (i: number) => items[i] as T, set: (i: number, v: T) => { items[i] = v; } });
const output = (id: string) => ({ data: { [WIDGET]: { model_id: id }, "text/plain": "live" } as Record<string, unknown> });

describe("the document after a turn", () => {
  it("holds the static transcript where the widget was, and everything else as it was", () => {
    const outputs = [output("other"), { data: { "text/plain": "1" } }, output("mine")];
    const cells = list([{}, { outputs: list(outputs) }]);
    expect(replaceOutputs({ context: { model: { cells } } }, "mine", { "text/html": "<p>over" })).toBe(1);
    expect(outputs[2]?.data).toEqual({ "text/html": "<p>over" });
    expect(outputs[0]).toEqual(output("other"));
    expect(outputs[1]?.data).toEqual({ "text/plain": "1" });
  });

  it.each([undefined, null, {}, { context: {} }, { context: { model: { cells: list([]) } } }])("is left alone in a host that is not JupyterLab: %j", (manager) => {
    expect(replaceOutputs(manager, "mine", {})).toBe(0);
  });
});
