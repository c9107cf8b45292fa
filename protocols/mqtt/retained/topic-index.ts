// Topics that have a retained message: a tree of their levels, that holds where each message lies and nothing of what it
// says. A topic is found in as many steps as it has levels; a filter by a walk that stands still between two steps, so
// that one which matches a million topics delays nobody.

/** A place in a partition of the log: of the record that a message came by. */
export interface Source {
  readonly topicId: string;
  readonly partition: number;
}

/** What is known of a retained message without reading it. */
export interface RetainedEntry {
  /** Where the state table has it. */
  readonly statePartition: number;
  readonly stateOffset: number;
  readonly source: Source;
  readonly sourceOffset: number;
  /** Of the record that it came by. */
  readonly timestampMs: number;
  /** Milliseconds since the epoch; infinite without an expiry. */
  readonly expiresAtMs: number;
  readonly byteLength: number;
}

/** One level of a topic, seen by those who look at it only as the topic that ends here. */
export interface RetainedTopic {
  readonly entry: RetainedEntry | undefined;
  /** Of the index when the entry was set. */
  readonly version: number;
}

class Node implements RetainedTopic {
  readonly parent: Node | undefined;
  readonly level: string;
  entry: RetainedEntry | undefined = undefined;
  version = 0;
  /** The one level below, while there is one. */
  child: Node | undefined = undefined;
  /** Instead of `child`, once there have been more. */
  children: Map<string, Node> | undefined = undefined;

  constructor(parent: Node | undefined, level: string) {
    this.parent = parent;
    this.level = level;
  }
}

/** What a node with its place in its parent takes, and what an entry takes, about, as measured. */
const NODE_BYTES = 160;
const ENTRY_BYTES = 96;

export class TopicIndex {
  readonly #root = new Node(undefined, '');
  readonly #expiring = new Set<Node>();
  #size = 0;
  #version = 0;
  #heldBytes = 0;
  #retainedBytes = 0;

  get size(): number {
    return this.#size;
  }

  /** Counts the changes. */
  get version(): number {
    return this.#version;
  }

  /** Memory that the index takes, about. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** What the messages take in the log. */
  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  /** As many steps as the topic has levels. */
  find(topic: string): RetainedTopic | undefined {
    const node = this.#nodeOf(topic);
    return node?.entry === undefined ? undefined : node;
  }

  /** What a topic that is not there takes at most. */
  static bytesMax(topic: string, levels: number): number {
    return ENTRY_BYTES + NODE_BYTES * levels + topic.length;
  }

  set(topic: string, entry: RetainedEntry): void {
    let node = this.#root;
    for (const level of topic.split('/')) {
      let child = childOf(node, level);
      if (child === undefined) {
        child = new Node(node, level);
        addChild(node, child);
        this.#heldBytes += NODE_BYTES + level.length;
      }
      node = child;
    }
    if (node.entry === undefined) {
      this.#size++;
      this.#heldBytes += ENTRY_BYTES;
    } else {
      this.#retainedBytes -= node.entry.byteLength;
    }
    node.entry = entry;
    node.version = ++this.#version;
    this.#retainedBytes += entry.byteLength;
    if (entry.expiresAtMs === Number.POSITIVE_INFINITY) this.#expiring.delete(node);
    else this.#expiring.add(node);
  }

  /** @returns the entry that was there. */
  delete(topic: string): RetainedEntry | undefined {
    const node = this.#nodeOf(topic);
    return node === undefined ? undefined : this.#clear(node);
  }

  /** All that lies in one partition of the state table. */
  deletePartition(statePartition: number): void {
    const walk = this.walk('#');
    for (let topic = walk.next(); topic !== undefined; topic = walk.next()) {
      // A walk returns this index's own nodes.
      if (topic.entry?.statePartition === statePartition) this.#clear(topic as Node);
    }
  }

  /** Topics with a message that was to live no longer than until `nowMs`. */
  *expired(nowMs: number): Generator<string> {
    for (const node of this.#expiring) {
      if (node.entry !== undefined && node.entry.expiresAtMs <= nowMs) yield topicOf(node);
    }
  }

  /** The topic that a walk, or {@link find}, has found. */
  nameOf(topic: RetainedTopic): string {
    // This index's own nodes are the only topics that there are.
    return topicOf(topic as Node);
  }

  walk(filter: string): TopicWalk {
    return new TopicWalk(this.#root, filter.split('/'));
  }

  #nodeOf(topic: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (let start = 0; node !== undefined; ) {
      const end = topic.indexOf('/', start);
      node = childOf(node, end < 0 ? topic.slice(start) : topic.slice(start, end));
      if (end < 0) return node;
      start = end + 1;
    }
    return undefined;
  }

  #clear(node: Node): RetainedEntry | undefined {
    const { entry } = node;
    if (entry === undefined) return undefined;
    node.entry = undefined;
    node.version = ++this.#version;
    this.#expiring.delete(node);
    this.#size--;
    this.#retainedBytes -= entry.byteLength;
    this.#heldBytes -= ENTRY_BYTES + prune(node);
    return entry;
  }
}

/** Where a walk stands in one node: which level of the filter its children are held against. */
interface Frame {
  readonly node: Node;
  /** {@link BELOW} for all that lies below a `#`. */
  readonly depth: number;
  /** Of the children that are still to come; undefined before the first. */
  rest: Iterator<Node> | undefined;
}

const BELOW = -1;

/**
 * Steps through the topics that match a filter (section 4.7). The index may change between two steps: what goes is not
 * found any more, what comes may be found or not.
 */
export class TopicWalk {
  readonly #levels: readonly string[];
  readonly #stack: Frame[];
  #steps = 0;

  constructor(root: unknown, levels: readonly string[]) {
    this.#levels = levels;
    // Made by the index alone, of its own root.
    this.#stack = [{ node: root as Node, depth: 0, rest: undefined }];
  }

  /** Nodes looked at so far: what the walk has cost. */
  get steps(): number {
    return this.#steps;
  }

  /** Undefined at the end, or when `stepsMax` nodes were looked at: {@link ended} tells which. */
  next(stepsMax = Number.POSITIVE_INFINITY): RetainedTopic | undefined {
    for (let steps = 0; this.#stack.length > 0 && steps < stepsMax; steps++) {
      this.#steps++;
      const found = this.#step();
      if (found?.entry !== undefined) return found;
    }
    return undefined;
  }

  get ended(): boolean {
    return this.#stack.length === 0;
  }

  /** @returns a node whose topic matches, whether or not it has a message. */
  #step(): Node | undefined {
    const frame = this.#stack.at(-1) as Frame; // the caller has seen that there is one
    const { node, depth } = frame;
    if (depth === this.#levels.length) {
      this.#stack.pop();
      return node;
    }
    const level = this.#levels[depth];
    if (depth === BELOW || level === '+' || level === '#') return this.#stepWildcard(frame, level);
    this.#stack.pop();
    const child = childOf(node, level!); // depth is below the number of levels
    if (child !== undefined) this.#push(child, depth + 1);
    return undefined;
  }

  #stepWildcard(frame: Frame, level: string | undefined): Node | undefined {
    const { node, depth } = frame;
    const isFirst = frame.rest === undefined;
    frame.rest ??= childrenOf(node);
    const next = frame.rest.next();
    if (next.done === true) this.#stack.pop();
    // [MQTT-4.7.2-1]: a wildcard in front does not see topics of the server's own.
    else if (node.parent !== undefined || !next.value.level.startsWith('$')) {
      this.#push(next.value, level === '+' && depth !== BELOW ? depth + 1 : BELOW);
    }
    // `a/#` matches `a` too (section 4.7.1.2); what lies below a `#` matches itself.
    return isFirst && level !== '+' ? node : undefined;
  }

  #push(node: Node, depth: number): void {
    this.#stack.push({ node, depth, rest: undefined });
  }
}

function topicOf(node: Node): string {
  const levels: string[] = [];
  for (let at: Node = node; at.parent !== undefined; at = at.parent) levels.push(at.level);
  return levels.reverse().join('/');
}

function childOf(node: Node, level: string): Node | undefined {
  if (node.children !== undefined) return node.children.get(level);
  return node.child?.level === level ? node.child : undefined;
}

function childrenOf(node: Node): Iterator<Node> {
  if (node.children !== undefined) return node.children.values();
  return (node.child === undefined ? [] : [node.child]).values();
}

function addChild(node: Node, child: Node): void {
  if (node.children !== undefined) {
    node.children.set(child.level, child);
  } else if (node.child !== undefined) {
    node.children = new Map([
      [node.child.level, node.child],
      [child.level, child],
    ]);
    node.child = undefined;
  } else {
    node.child = child;
  }
}

/** Removes nodes that hold nothing any more, from the leaf up. @returns the bytes that they took, about */
function prune(leaf: Node): number {
  let bytes = 0;
  let node = leaf;
  while (node.parent && node.entry === undefined && !node.child && !node.children) {
    const { parent } = node;
    parent.child = undefined;
    parent.children?.delete(node.level);
    if (parent.children?.size === 0) parent.children = undefined;
    bytes += NODE_BYTES + node.level.length;
    node = parent;
  }
  return bytes;
}
