/** Tidies up after an input line that the kernel took back, because the decision came by another route.
 *
 * JupyterLab goes on showing the box and runs no further cell while it believes that one waits for input. Where the host
 * is another one, nothing is found and nothing is done.
 */

interface Manager { kernel?: { hasPendingInput?: boolean; removeInputGuard?: () => void } }

/** `root` is a view in the cell that no longer asks. */
export function releaseInput(manager: unknown, root: Element): void {
  const kernel = (manager as Manager | undefined)?.kernel;
  if (!kernel?.hasPendingInput) return;                                // it was answered: all is well
  kernel.removeInputGuard?.();
  for (const box of root.closest(".jp-OutputArea")?.querySelectorAll<HTMLElement>(".jp-OutputArea-stdin-item") ?? []) {
    box.style.display = "none";                                        // hidden, not removed: it is Lumino's to dispose of
  }
}
