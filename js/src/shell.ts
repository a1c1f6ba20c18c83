/** A small lexer for shell commands that are being decided: which words are programs, operators, strings. */

export type ShellPart = { kind: "program" | "operator" | "string" | "comment" | "plain"; text: string };

const SHELL = /(?<comment>(?<=^|\s)#[^\n]*)|(?<string>"(?:\\.|[^"\\])*"|'[^']*'|\$'(?:\\.|[^'\\])*')|(?<operator>&&|\|\||;;|[|;&()]|\d?(?:>>|<<<|<<-?|[<>])(?:&\d)?)|(?<word>(?:\\.|[^\s|;&<>"'()\\])+)|(?<space>[^\S\n]+|\n|.)/gsu;
const PREFIX = new Set(["sudo", "env", "exec", "nohup", "time", "command", "then", "do", "else", "if", "while", "until", "!", "{", "xargs", "builtin", "nice"]);

/** A shell command in parts, its programs told apart from their arguments. A hint for the eye, not a security decision. */
export function shellParts(command: string): ShellPart[] {
  const parts: ShellPart[] = [];
  let first = true;           // is the next word the name of a program?
  let here = "";              // the end marker of a here-document that starts at the next line
  const scan = new RegExp(SHELL.source, SHELL.flags);
  for (let match = scan.exec(command); match; match = scan.exec(command)) {
    const text = match[0];
    const g = match.groups ?? {};
    if (g["comment"]) parts.push({ kind: "comment", text });
    else if (g["string"]) {
      const heredoc = /<<-?$/.test(parts.filter((p) => p.text.trim()).at(-1)?.text ?? "");
      if (heredoc) here = text.slice(1, -1);
      parts.push({ kind: "string", text });
      first = false;
    } else if (g["operator"]) {
      parts.push({ kind: "operator", text });
      if (/^(?:&&|\|\||;;?|[|&(])$/.test(text)) first = true;
    } else if (g["word"]) {
      const before = parts.filter((p) => p.text.trim()).at(-1);
      const redirect = before?.kind === "operator" && /[<>]/.test(before.text);
      if (redirect && before.text.startsWith("<<") && before.text !== "<<<") here = text;
      const assignment = first && /^[A-Za-z_]\w*\+?=/.test(text);
      const program = first && !redirect && !assignment && !(first && text.startsWith("-"));
      parts.push({ kind: program ? "program" : "plain", text });
      if (program && !PREFIX.has(text)) first = false;
    } else {
      parts.push({ kind: "plain", text });
      if (text === "\n") {
        first = true;
        if (here) {
          const marker = here.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
          const rest = command.slice(scan.lastIndex);
          const end = new RegExp(`^[\\t ]*${marker}[\\t ]*$`, "m").exec(rest);
          const body = end ? rest.slice(0, end.index + end[0].length) : rest;
          parts.push({ kind: "plain", text: body });
          scan.lastIndex += body.length;
          here = "";
        }
      }
    }
  }
  return parts;
}

/** The shell's grammar, no programs. */
const RESERVED = new Set(["if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select", "function", "{", "}", "[[", "]]", "!"]);

/** The programs of a command with how often each is named, in order. */
export function programs(parts: ShellPart[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const p of parts) if (p.kind === "program" && !RESERVED.has(p.text)) counts.set(p.text, (counts.get(p.text) ?? 0) + 1);
  return [...counts];
}
