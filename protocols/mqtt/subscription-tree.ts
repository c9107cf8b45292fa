// All subscriptions, found by topic name: a tree whose edges are the levels of filters (section 4.7). Matching is a walk
// with a list instead of recursion; a topic of n levels meets at most as many nodes as filters share its shape.
// Most nodes have one child, or none, and nobody subscribed: they are small. Memory and time that filters take are
// counted, since clients choose both.

import type { QoS } from './packets/publish.ts';
import { levelCount } from './topic-filter.ts';

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
  /** The one level below, while there is one; `+` and `#` are levels like others, under their own names. */
  child: Node<Item> | undefined;
  /** Instead of `child`, once there have been more. */
  children: Map<string, Node<Item>> | undefined;
  /** Subscriptions whose filter ends here, one per subscriber [MQTT-3.8.4-3]; never empty. */
  subscriptions: Map<unknown, Item> | undefined;
}

/** What a node takes, about, as measured. */
const NODE_BYTES = 128;
/** What a subscription takes beside its filter, with all that its session keeps of it. */
const SUBSCRIPTION_BYTES = 512;

/** What a filter takes at most in {@link SubscriptionTree.heldBytes}: no level of it is there yet. */
export function subscriptionBytesMax(filter: string): number {
  return SUBSCRIPTION_BYTES + filter.length + NODE_BYTES * levelCount(filter);
}

export class SubscriptionTree<Item extends Subscription<unknown>> {
  readonly #root: Node<Item> = newRoot();
  #size = 0;
  #version = 0;
  #heldBytes = 0;
  #steps = 0;

  get size(): number {
    return this.#size;
  }

  /** Changes with every change of what matches. */
  get version(): number {
    return this.#version;
  }

  /** Memory that the subscriptions take, about. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** How much matching there has been: nodes looked at, and subscriptions found. */
  get steps(): number {
    return this.#steps;
  }

  /** Replaces what the same subscriber had under the same filter, and returns it. */
  set(subscription: Item): Item | undefined {
    let node = this.#root;
    for (const level of subscription.filter.split('/')) {
      let child = childOf(node, level);
      if (!child) {
        child = { parent: node, level, child: undefined, children: undefined, subscriptions: undefined };
        addChild(node, child);
        this.#heldBytes += NODE_BYTES;
      }
      node = child;
    }
    node.subscriptions ??= new Map();
    const previous = node.subscriptions.get(subscription.subscriber);
    node.subscriptions.set(subscription.subscriber, subscription);
    if (!previous) {
      this.#size++;
      this.#heldBytes += SUBSCRIPTION_BYTES + subscription.filter.length;
    }
    this.#version++;
    return previous;
  }

  /** Undefined when there was none. */
  delete(filter: string, subscriber: Item['subscriber']): Item | undefined {
    let node: Node<Item> | undefined = this.#root;
    for (const level of filter.split('/')) {
      node = childOf(node, level);
      if (!node) return undefined;
    }
    const previous = node.subscriptions?.get(subscriber);
    if (!previous || !node.subscriptions) return undefined;
    node.subscriptions.delete(subscriber);
    if (node.subscriptions.size === 0) node.subscriptions = undefined;
    this.#heldBytes -= SUBSCRIPTION_BYTES + filter.length + NODE_BYTES * prune(node);
    this.#size--;
    this.#version++;
    return previous;
  }

  /** Every subscription whose filter matches, in no order. */
  match(topic: string): Item[] {
    const found: Item[] = [];
    const take = (node: Node<Item> | undefined) => {
      if (node?.subscriptions)
        for (const subscription of node.subscriptions.values()) found.push(subscription);
    };
    const levels = topic.split('/');
    // [MQTT-4.7.2-1]: a wildcard in front does not see topics of the server's own.
    const hidden = topic.startsWith('$');
    let nodes: Node<Item>[] = [this.#root];
    for (let depth = 0; depth < levels.length && nodes.length > 0; depth++) {
      const next: Node<Item>[] = [];
      const wildcards = depth > 0 || !hidden;
      this.#steps += nodes.length;
      for (const node of nodes) {
        const literal = childOf(node, levels[depth]!);
        if (literal) next.push(literal);
        if (!wildcards) continue;
        const plus = childOf(node, '+');
        if (plus) next.push(plus);
        take(childOf(node, '#'));
      }
      nodes = next;
    }
    for (const node of nodes) {
      take(node);
      // `a/#` matches `a` too (section 4.7.1.2).
      take(childOf(node, '#'));
    }
    this.#steps += nodes.length + found.length;
    return found;
  }
}

function newRoot<Item>(): Node<Item> {
  return { parent: undefined, level: '', child: undefined, children: undefined, subscriptions: undefined };
}

function childOf<Item>(node: Node<Item>, level: string): Node<Item> | undefined {
  if (node.children) return node.children.get(level);
  return node.child?.level === level ? node.child : undefined;
}

function addChild<Item>(node: Node<Item>, child: Node<Item>): void {
  if (node.children) {
    node.children.set(child.level, child);
  } else if (node.child) {
    node.children = new Map([
      [node.child.level, node.child],
      [child.level, child],
    ]);
    node.child = undefined;
  } else {
    node.child = child;
  }
}

/** Removes nodes that hold nothing any more, from the leaf up. @returns how many */
function prune<Item>(leaf: Node<Item>): number {
  let removed = 0;
  let node = leaf;
  while (node.parent && !node.subscriptions && !node.child && !node.children) {
    const { parent } = node;
    parent.child = undefined;
    parent.children?.delete(node.level);
    if (parent.children?.size === 0) parent.children = undefined;
    node = parent;
    removed++;
  }
  return removed;
}
