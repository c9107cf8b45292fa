// All subscriptions, found by topic name: a tree whose edges are the levels of filters (section 4.7). Matching is a walk
// with a list instead of recursion; a topic of n levels meets at most as many nodes as filters share its shape.

import type { QoS } from './packets/publish.ts';

export interface Subscription<Subscriber> {
  readonly subscriber: Subscriber;
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0 = none. */
  readonly identifier: number;
}

interface Node<Item> {
  readonly parent: Node<Item> | undefined;
  readonly level: string;
  /** Literal levels below; `+` and `#` are children like others, under their own names. */
  readonly children: Map<string, Node<Item>>;
  /** Subscriptions whose filter ends here, one per subscriber [MQTT-3.8.4-3]. */
  readonly subscriptions: Map<unknown, Item>;
}

export class SubscriptionTree<Item extends Subscription<unknown>> {
  readonly #root: Node<Item> = newNode(undefined, '');
  #size = 0;
  #version = 0;

  get size(): number {
    return this.#size;
  }

  /** Changes with every change of what matches. */
  get version(): number {
    return this.#version;
  }

  /** Replaces what the same subscriber had under the same filter, and returns it. */
  set(subscription: Item): Item | undefined {
    let node = this.#root;
    for (const level of subscription.filter.split('/')) {
      let child = node.children.get(level);
      if (!child) {
        child = newNode(node, level);
        node.children.set(level, child);
      }
      node = child;
    }
    const previous = node.subscriptions.get(subscription.subscriber);
    node.subscriptions.set(subscription.subscriber, subscription);
    if (!previous) this.#size++;
    this.#version++;
    return previous;
  }

  /** Undefined when there was none. */
  delete(filter: string, subscriber: Item['subscriber']): Item | undefined {
    let node: Node<Item> | undefined = this.#root;
    for (const level of filter.split('/')) {
      node = node.children.get(level);
      if (!node) return undefined;
    }
    const previous = node.subscriptions.get(subscriber);
    if (!previous) return undefined;
    node.subscriptions.delete(subscriber);
    prune(node);
    this.#size--;
    this.#version++;
    return previous;
  }

  /** Every subscription whose filter matches, in no order. */
  match(topic: string): Item[] {
    const found: Item[] = [];
    const take = (node: Node<Item> | undefined) => {
      if (node) for (const subscription of node.subscriptions.values()) found.push(subscription);
    };
    const levels = topic.split('/');
    // [MQTT-4.7.2-1]: a wildcard in front does not see topics of the server's own.
    const hidden = topic.startsWith('$');
    let nodes: Node<Item>[] = [this.#root];
    for (let depth = 0; depth < levels.length && nodes.length > 0; depth++) {
      const next: Node<Item>[] = [];
      const wildcards = depth > 0 || !hidden;
      for (const node of nodes) {
        const literal = node.children.get(levels[depth]!);
        if (literal) next.push(literal);
        if (!wildcards) continue;
        const plus = node.children.get('+');
        if (plus) next.push(plus);
        take(node.children.get('#'));
      }
      nodes = next;
    }
    for (const node of nodes) {
      take(node);
      // `a/#` matches `a` too (section 4.7.1.2).
      take(node.children.get('#'));
    }
    return found;
  }
}

function newNode<Item>(parent: Node<Item> | undefined, level: string): Node<Item> {
  return { parent, level, children: new Map(), subscriptions: new Map() };
}

/** Removes nodes that hold nothing any more, from the leaf up. */
function prune<Item>(leaf: Node<Item>): void {
  let node = leaf;
  while (node.parent && node.subscriptions.size === 0 && node.children.size === 0) {
    node.parent.children.delete(node.level);
    node = node.parent;
  }
}
