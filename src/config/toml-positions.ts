// On which line each key of a TOML document stands. The parser says so only for its own errors, and an error that
// the schema finds must name its line too. The text is known to be valid TOML: nothing is checked here twice.
import type { Path } from './schema-tree.ts';

/** Lines, from 1, by {@link pathKey}. */
export type KeyLines = ReadonlyMap<string, number>;

export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

export function locateKeys(text: string): KeyLines {
  return new Scanner(text).document();
}

class Scanner {
  readonly #text: string;
  readonly #lines = new Map<string, number>();
  /** Elements so far of each `[[array]]`, by path. */
  readonly #elementCounts = new Map<string, number>();
  #position = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  document(): KeyLines {
    let table: Path = [];
    for (this.#skipBlank(); this.#position < this.#text.length; this.#skipBlank()) {
      if (this.#peek() === '[') table = this.#header();
      else this.#pair(table);
    }
    return this.#lines;
  }

  /** `[a.b]` or `[[a.b]]`: gives the path of the table that it opens. */
  #header(): Path {
    this.#advance();
    const isElement = this.#peek() === '[';
    if (isElement) this.#advance();
    const keys = this.#key();
    this.#advance(isElement ? 2 : 1);
    let path: Path = [];
    keys.forEach((key, index) => {
      path = [...path, key];
      const count = this.#elementCounts.get(pathKey(path));
      if (isElement && index === keys.length - 1) {
        this.#note(path);
        this.#elementCounts.set(pathKey(path), (count ?? 0) + 1);
        path = [...path, count ?? 0];
      } else if (count !== undefined) {
        path = [...path, count - 1];
      }
      this.#note(path);
    });
    return path;
  }

  /** `key = value`; dotted keys open tables of their own. */
  #pair(table: Path): void {
    let path = table;
    for (const key of this.#key()) {
      path = [...path, key];
      this.#note(path);
    }
    this.#advance();
    this.#value(path);
  }

  #value(path: Path): void {
    this.#skipBlank();
    const first = this.#peek();
    if (first === '"' || first === "'") this.#string();
    else if (first === '[') this.#array(path);
    else if (first === '{') this.#inlineTable(path);
    else while (this.#position < this.#text.length && !/[,\]}#\n]/.test(this.#peek())) this.#advance();
  }

  #array(path: Path): void {
    this.#advance();
    for (let index = 0; ; ) {
      this.#skipBlank();
      const next = this.#peek();
      if (next === ']' || next === '') break;
      if (next === ',') {
        this.#advance();
        continue;
      }
      const element = [...path, index++];
      this.#note(element);
      this.#value(element);
    }
    this.#advance();
  }

  #inlineTable(path: Path): void {
    this.#advance();
    for (;;) {
      this.#skipBlank();
      const next = this.#peek();
      if (next === '}' || next === '') break;
      if (next === ',') this.#advance();
      else this.#pair(path);
    }
    this.#advance();
  }

  /** One or more keys with dots between them, up to what follows: `=` or `]`. */
  #key(): string[] {
    const keys: string[] = [];
    for (;;) {
      this.#skipBlank();
      const next = this.#peek();
      if (next === '"' || next === "'") keys.push(this.#string());
      else if (next === '.') this.#advance();
      else if (next === '=' || next === ']' || next === '') return keys;
      else keys.push(this.#bareKey());
    }
  }

  #bareKey(): string {
    const start = this.#position;
    while (/[A-Za-z0-9_-]/.test(this.#peek())) this.#advance();
    // Never stand still, whatever the parser may have let through.
    if (this.#position === start) this.#advance();
    return this.#text.slice(start, this.#position);
  }

  /** Any of the four kinds; gives the content, with only the escapes resolved that JSON knows too. */
  #string(): string {
    const quote = this.#peek();
    const isLong = this.#text.startsWith(quote.repeat(3), this.#position);
    const end = isLong ? quote.repeat(3) : quote;
    this.#advance(end.length);
    const start = this.#position;
    while (this.#position < this.#text.length && !this.#text.startsWith(end, this.#position)) {
      this.#advance(quote === '"' && this.#peek() === '\\' ? 2 : 1);
    }
    const content = this.#text.slice(start, this.#position);
    this.#advance(end.length);
    // Up to two quotes may stand before the closing three: """a""""" is a"".
    while (isLong && this.#peek() === quote) this.#advance();
    return quote === '"' && content.includes('\\') ? unescaped(content) : content;
  }

  #skipBlank(): void {
    for (;;) {
      const next = this.#peek();
      if (next === '#') while (this.#position < this.#text.length && this.#peek() !== '\n') this.#advance();
      else if (next !== '' && ' \t\r\n\uFEFF'.includes(next)) this.#advance();
      else return;
    }
  }

  #note(path: Path): void {
    const key = pathKey(path);
    if (!this.#lines.has(key)) this.#lines.set(key, this.#line);
  }

  #peek(): string {
    return this.#text.charAt(this.#position);
  }

  #advance(count = 1): void {
    for (let step = 0; step < count; step++) {
      if (this.#peek() === '\n') this.#line++;
      this.#position++;
    }
  }
}

function unescaped(content: string): string {
  try {
    // A cast that JSON.parse makes true: the text is one JSON string.
    return JSON.parse(`"${content}"`) as string;
  } catch {
    return content;
  }
}
