import { expect, it, vi } from "vitest";
import { releaseInput } from "../src/stdin";

function cell(): { root: Element; box: HTMLElement } {
  document.body.innerHTML = '<div class="jp-OutputArea"><div id="view"></div><div class="jp-OutputArea-stdin-item">y?</div></div>';
  return { root: document.getElementById("view") as Element, box: document.querySelector(".jp-OutputArea-stdin-item") as HTMLElement };
}

it("an input line that was taken back no longer holds up the next cell, nor is it shown", () => {
  const { root, box } = cell();
  const kernel = { hasPendingInput: true, removeInputGuard: vi.fn() };
  releaseInput({ kernel }, root);
  expect(kernel.removeInputGuard).toHaveBeenCalledOnce();
  expect(box.style.display).toBe("none");
});

it("an input line that was answered is left to JupyterLab", () => {
  const { root, box } = cell();
  const kernel = { hasPendingInput: false, removeInputGuard: vi.fn() };
  releaseInput({ kernel }, root);
  expect(kernel.removeInputGuard).not.toHaveBeenCalled();
  expect(box.style.display).toBe("");
});

it.each([undefined, {}, { kernel: { hasPendingInput: true } }])("other hosts are left alone: %j", (manager) => {
  releaseInput(manager, cell().root);
});
