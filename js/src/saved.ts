/** Puts the static transcript in the widget's place in the notebook's own model, where the kernel no longer reaches.
 *
 * At a turn's end the kernel updates the display that holds the widget. JupyterLab forgets display ids when a page is
 * reloaded, so there the update is lost; but its widget manager knows the document, and the output knows the widget.
 * Knows no session. Where the host is another one, nothing is found and nothing is done.
 */

const WIDGET = "application/vnd.jupyter.widget-view+json";

interface Output { data?: Record<string, unknown> }
interface Outputs { length: number; get(i: number): Output; set(i: number, value: unknown): void }
interface Cells { length: number; get(i: number): { outputs?: Outputs } }
interface Manager { context?: { model?: { cells?: Cells } } }

/** Replace every output that shows the model `id` by `data` (a mime bundle); how many there were. */
export function replaceOutputs(manager: unknown, id: string, data: Record<string, unknown>): number {
  let replaced = 0;
  const cells = (manager as Manager | undefined)?.context?.model?.cells;
  if (!cells || !id) return replaced;
  for (let c = 0; c < cells.length; c += 1) {
    const { outputs } = cells.get(c);
    for (let i = 0; outputs && i < outputs.length; i += 1) {
      const shown = outputs.get(i).data?.[WIDGET] as { model_id?: string } | undefined;
      if (shown?.model_id !== id) continue;
      outputs.set(i, { output_type: "display_data", data, metadata: {} });
      replaced += 1;
    }
  }
  return replaced;
}
