// Any text as part of a Kafka topic's name, and back. What is not `[A-Za-z0-9.-]` becomes `_` and two hex digits, byte by
// byte; `_` itself stays where it does not look like the beginning of such an escape.

const KEPT = /^[A-Za-z0-9.-]$/;
const ESCAPED = /_[0-9a-f]{2}/y;

/** @param also one more character that is escaped: the one that ends the value in its template. */
export function escapeTopicPart(text: string, also = ''): string {
  let escaped = '';
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at++) {
    const character = String.fromCharCode(bytes[at]!);
    const keeps =
      character === '_'
        ? !/^[0-9a-f]{2}/.test(bytes.toString('latin1', at + 1, at + 3))
        : KEPT.test(character);
    escaped += keeps && character !== also ? character : escapeOf(bytes[at]!);
  }
  return escaped;
}

function escapeOf(byte: number): string {
  return `_${byte.toString(16).padStart(2, '0')}`;
}

/** Undefined when the escapes are not UTF-8. */
export function unescapeTopicPart(escaped: string): string | undefined {
  if (!escaped.includes('_')) return escaped;
  const bytes: number[] = [];
  for (let at = 0; at < escaped.length; at++) {
    ESCAPED.lastIndex = at;
    if (ESCAPED.test(escaped)) {
      bytes.push(Number.parseInt(escaped.slice(at + 1, at + 3), 16));
      at += 2;
    } else {
      bytes.push(escaped.charCodeAt(at));
    }
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    // A name that nobody escaped: Kafka's own.
    return undefined;
  }
}

/** `a/b/c` as `a.b.c`: the levels one by one, the name as a whole where it would be `.` or `..`. */
export function dottedName(topic: string): string {
  const name = topic
    .split('/')
    .map((level) => escapeTopicPart(level, '.'))
    .join('.');
  return name === '.' || name === '..' ? name.replaceAll('.', '_2f') : name;
}

/** Undefined when the name is no topic's. */
export function topicOfDottedName(name: string): string | undefined {
  const levels = name.split('.').map(unescapeTopicPart);
  return levels.includes(undefined) ? undefined : levels.join('/');
}
