// The gate of hm_jupyter: an extension of pi (and of oh-my-pi) that asks the host before a tool call acts.
//
// pi runs every tool call unasked. Started with `-e` this file, it asks first, by the `select` dialog of the RPC mode, in the
// form in which oh-my-pi itself asks:
//
//   title     Allow tool: bash            the tool
//             Call: toolu_01              the id of the call (what oh-my-pi's own dialog leaves out)
//             Input: {"command":"ls"}     what will run, after all that other extensions changed of it (cut: "Input cut: …")
//   options   Approve, Deny
//
// The host answers "Approve", "Deny" or "Deny: why" (the model is told why). Whatever else comes back, and silence, is a
// refusal: nothing unknown is leave. HM_GATE says what is asked about: always-ask (commands and edits; the default), write
// (commands alone), yolo (nothing). A word it does not know means always-ask.
//
// It imports nothing and names no types, so that any version loads it and any Node runs its test; docs/omp.md has the rest.

const READS = ["read", "grep", "find", "ls", "glob"];
const EDITS = ["edit", "write"];
const LONGEST = 262144; // characters of the input in the title; the host has the call's own arguments too

function asks(tool) {
  const mode = process.env.HM_GATE;
  if (mode === "yolo" || READS.includes(tool)) return false;
  return !(mode === "write" && EDITS.includes(tool));
}

function written(input) {
  let text = "";
  try {
    text = JSON.stringify(input) ?? "null";
  } catch {
    return "Input cut: it cannot be written as JSON";
  }
  return text.length > LONGEST ? `Input cut: ${text.slice(0, LONGEST)}` : `Input: ${text}`;
}

const oneLine = (text) => String(text).replace(/\s+/g, " ");

export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const tool = oneLine(event.toolName);
    if (!asks(String(event.toolName))) return undefined;
    const refused = (why) => ({ block: true, reason: `Tool call denied by user: ${tool}${why ? `. ${why}` : ""}` });
    if (!ctx.hasUI) return refused("Nobody is there who could allow it.");
    const title = `Allow tool: ${tool}\nCall: ${oneLine(event.toolCallId)}\n${written(event.input)}`;
    let answer;
    try {
      answer = await ctx.ui.select(title, ["Approve", "Deny"], { signal: ctx.signal });
    } catch {
      return refused("It could not be asked.");
    }
    if (answer === "Approve") return undefined;
    const note = typeof answer === "string" && answer.startsWith("Deny: ") ? answer.slice(6).trim() : "";
    return refused(note);
  });
}
