/** The keys of the widget, all in one place. They work only inside it, and letters never in a field. */
import type { Frame } from "./frame";

export interface KeyTarget {
  frameOf(node: Node | null): Frame | null;
  /** Focus the previous (-1) or next (+1) frame that waits. */
  step(direction: -1 | 1): void;
  stop(): void;
  compose(event: KeyboardEvent): boolean;
}

const isField = (node: EventTarget | null): node is HTMLElement =>
  node instanceof HTMLElement && (node.tagName === "TEXTAREA" || node.tagName === "SELECT" ||
    (node instanceof HTMLInputElement && !/^(?:checkbox|radio|button)$/.test(node.type)));

export function onKey(event: KeyboardEvent, target: KeyTarget): void {
  if (event.isComposing || event.defaultPrevented) return;
  if (act(event, target)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function act(event: KeyboardEvent, target: KeyTarget): boolean {
  const { key } = event;
  const node = event.target as HTMLElement;
  if (event.altKey && !event.ctrlKey && !event.metaKey && (key === "ArrowUp" || key === "ArrowDown")) {
    target.step(key === "ArrowUp" ? -1 : 1);
    return true;
  }
  if (key === "Escape" && event.shiftKey) { target.stop(); return true; }
  if (target.compose(event)) return true;
  const frame = target.frameOf(node);
  if (!frame) return false;
  const field = isField(node);
  if (key === "Escape") {
    if (!field) return false;
    frame.node.focus({ preventScroll: true });
    return true;
  }
  if (key === "Enter") {
    if (event.ctrlKey || event.metaKey) {
      return event.repeat || frame.submit(node);
    }
    // Never a bare Enter: it neither allows nor sends a note. In an edit box it is a new line.
    return node.tagName === "INPUT" || node.classList.contains("hm-btn-allow") || node === frame.node;
  }
  if (field || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return false;
  return frame.key(key.length === 1 ? key.toLowerCase() : key);
}
