// What is subscribed under topic filters, found by topic: a tree whose edges are the levels of filters. The characters
// that separate and stand for levels may be others than MQTT's, as an emitter's options say.

export interface FilterSyntax {
  readonly separator: string;
  /** Fills one level. */
  readonly wildcardOne: string;
  /** Fills any number of levels, none too, and is the last. */
  readonly wildcardSome: string;
  /** Whether `wildcardOne` stands for a level of no characters. */
  readonly matchEmptyLevels: boolean;
}

export const MQTT_SYNTAX: FilterSyntax = {
  separator: '/',
  wildcardOne: '+',
  wildcardSome: '#',
  matchEmptyLevels: true,
};

interface Node<Value> {
  readonly children: Map<string, Node<Value>>;
  readonly values: Value[];
}

export class FilterTree<Value> {
  readonly #syntax: FilterSyntax;
  readonly #root: Node<Value> = newNode();

  constructor(syntax: FilterSyntax = MQTT_SYNTAX) {
    this.#syntax = syntax;
  }

  add(filter: string, value: Value): void {
    let node = this.#root;
    for (const level of filter.split(this.#syntax.separator)) {
      let child = node.children.get(level);
      if (child === undefined) {
        child = newNode();
        node.children.set(level, child);
      }
      node = child;
    }
    node.values.push(value);
  }

  /** The first that is one of those; undefined = all of the filter. */
  remove(filter: string, isOne: ((value: Value) => boolean) | undefined): void {
    const path: (readonly [Node<Value>, string])[] = [];
    let node: Node<Value> | undefined = this.#root;
    for (const level of filter.split(this.#syntax.separator)) {
      path.push([node, level]);
      node = node.children.get(level);
      if (node === undefined) return;
    }
    const index = isOne === undefined ? 0 : node.values.findIndex(isOne);
    if (index >= 0) node.values.splice(index, isOne === undefined ? node.values.length : 1);
    // Nodes that hold nothing any more go, from the leaf up.
    for (const [parent, level] of path.toReversed()) {
      const child = parent.children.get(level);
      if (child === undefined || child.values.length > 0 || child.children.size > 0) return;
      parent.children.delete(level);
    }
  }

  /** What stands behind a wildcard comes before what names its topic. */
  match(topic: string): Value[] {
    const { separator, wildcardOne, wildcardSome, matchEmptyLevels } = this.#syntax;
    const found: Value[] = [];
    let nodes = [this.#root];
    for (const level of topic.split(separator)) {
      const next: Node<Value>[] = [];
      for (const node of nodes) {
        take(found, node.children.get(wildcardSome));
        const any = level !== '' || matchEmptyLevels ? node.children.get(wildcardOne) : undefined;
        if (any !== undefined) next.push(any);
        const exact = node.children.get(level);
        // A topic may hold the wildcard's own character.
        if (exact !== undefined && exact !== any && level !== wildcardSome) next.push(exact);
      }
      nodes = next;
    }
    for (const node of nodes) {
      take(found, node.children.get(wildcardSome));
      found.push(...node.values);
    }
    return found;
  }
}

function take<Value>(found: Value[], node: Node<Value> | undefined): void {
  if (node !== undefined) found.push(...node.values);
}

function newNode<Value>(): Node<Value> {
  return { children: new Map(), values: [] };
}
