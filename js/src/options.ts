/** The ways an agent offers to decide an approval, in its words. What each is comes from its kind, never from its name. */
import { type Child, h } from "./dom";
import { label } from "./escapes";
import { Button } from "./frame";
import type { ApprovalOption } from "./model";

/** Characters of a name on a button; a longer one is written out below. */
const ON_BUTTON = 90;
/** Characters of a name anywhere. */
const MOST = 1_000;

const ORDER = ["allow_once", "allow_session", "", "deny_once", "deny_session"];
const rank = (kind: string) => { const at = ORDER.indexOf(kind); return at < 0 ? 2 : at; };

export class Offer {
  readonly button: Button;
  readonly allows: boolean;
  readonly denies: boolean;
  /** It goes on beyond this call. */
  readonly lasts: boolean;

  constructor(readonly option: ApprovalOption, key: string, choose: () => void) {
    const { kind } = option;
    this.allows = kind === "allow_once" || kind === "allow_session";
    this.denies = kind === "deny_once" || kind === "deny_session";
    this.lasts = kind === "allow_session" || kind === "deny_session";
    this.button = new Button("", { ...(key && { key }), cls: `hm-btn-offer${this.denies ? "" : " hm-btn-allow"}`, ...(this.allows ? { icon: "check" } : this.denies ? { icon: "cross" } : {}), onclick: choose });
    this.button.name(this.name, this.allows ? "Allow: " : this.denies ? "Deny: " : "");
  }

  get name(): Child[] { return label(this.option.name || this.option.id || "no name", ON_BUTTON); }
  /** The whole name, where the button does not hold it. */
  get whole(): HTMLElement | null {
    const { name } = this.option;
    return name.trim().length > ON_BUTTON ? h("q", null, ...label(name, MOST)) : null;
  }
}

/** One for each option: what allows once first, what lasts after it, what denies last; else as the agent ordered them.
 * The keys belong to the first that allows once and the first that denies once. */
export function offers(options: readonly ApprovalOption[], choose: (offer: Offer) => void): Offer[] {
  const sorted = options.map((option, i) => ({ option, i })).sort((a, b) => rank(a.option.kind) - rank(b.option.kind) || a.i - b.i);
  const taken = new Set<string>();
  return sorted.map(({ option }) => {
    const key = option.kind === "allow_once" ? "Y" : option.kind === "deny_once" ? "N" : "";
    const offer: Offer = new Offer(option, taken.has(key) ? "" : key, () => choose(offer));
    taken.add(key);
    return offer;
  });
}
