// JSON that must stay as somebody wrote it: numbers beyond 2^53, digits, the order and repetition of names. It is checked
// by parsing, and what is kept is the text.

/** The text without line ends, which JSON has between its tokens alone; undefined when it is no JSON. */
export function jsonLine(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return /[\n\r]/.test(text) ? text.replace(/[\n\r]+/g, ' ') : text;
}

/**
 * The text of each member of an object, by its name; of one that is repeated the last, as JSON.parse has it.
 * @param text of a JSON object, which has been parsed: nothing is checked again
 */
export function memberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = text.indexOf('{') + 1;
  for (;;) {
    const nameStart = skipBlanks(text, at);
    if (text[nameStart] !== '"') return members;
    const nameEnd = endOfString(text, nameStart);
    const valueStart = skipBlanks(text, text.indexOf(':', nameEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    // A member's name is a string.
    members.set(JSON.parse(text.slice(nameStart, nameEnd)) as string, text.slice(valueStart, valueEnd));
    const next = skipBlanks(text, valueEnd);
    if (text[next] !== ',') return members;
    at = next + 1;
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text[at]!)) at++;
  return at;
}

/** @param start of its first quote */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== '{' && first !== '[') {
    const scalar = /[^,}\]\s]*/y;
    scalar.lastIndex = start;
    return start + scalar.exec(text)![0].length; // matches nothing, too
  }
  let depth = 0;
  for (let at = start; ; ) {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    at++;
    if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return at;
  }
}
