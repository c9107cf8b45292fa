// Which methods a path takes, for who asks by another (405, RFC 9110 §15.5.6). It is looked for where no route has matched:
// routes that only refuse, some five beside each other one, took a quarter of what it takes to build the server.

interface Pattern {
  readonly segments: readonly RegExp[];
  /** Letters that a path must have: of two patterns that match, the one with more is meant. */
  readonly fixedLength: number;
  readonly methods: ReadonlySet<string>;
}

export class RouteMethods {
  readonly #byUrl = new Map<string, Set<string>>();
  #patterns: readonly Pattern[] | undefined;

  /** @param url as fastify has it: `:name` or `:name(expression)` is a parameter, `::` a colon */
  add(url: string, methods: readonly string[]): void {
    const known = this.#byUrl.get(url) ?? new Set<string>();
    for (const method of methods) known.add(method);
    this.#byUrl.set(url, known);
  }

  /** @returns of the route that the path belongs to; none where there is no such route */
  of(path: string): readonly string[] {
    this.#patterns ??= [...this.#byUrl].map(([url, methods]) => patternOf(url, methods));
    const segments = path.split('/').map(decoded);
    let found: Pattern | undefined;
    for (const pattern of this.#patterns) {
      const matches =
        pattern.segments.length === segments.length &&
        pattern.segments.every((each, index) => each.test(segments[index]!)); // as many
      if (matches && pattern.fixedLength > (found?.fixedLength ?? -1)) found = pattern;
    }
    return [...(found?.methods ?? [])];
  }
}

const PARAMETER = /(::|:\w+(?:\([^)]*\))?)/;

function patternOf(url: string, methods: ReadonlySet<string>): Pattern {
  let fixedLength = 0;
  const segments = url.split('/').map((segment) => {
    const parts = segment.split(PARAMETER).map((part) => {
      if (part.length > 2 && part.startsWith(':')) return '.+';
      const text = part === '::' ? ':' : part;
      fixedLength += text.length;
      return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    });
    return new RegExp(`^${parts.join('')}$`, 's');
  });
  return { segments, fixedLength, methods };
}

/** What is no valid percent-encoding is no fixed part of a path. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
