// What topic names and topic filters may look like (section 4.7). Both come here as strings that are well-formed
// UTF-8 already; see packets/utf8.ts.
import { MqttError } from './errors.ts';
import { REASON } from './reason-codes.ts';

/** `$share/{name}/{filter}` (section 4.8.2). */
export const SHARE_PREFIX = '$share/';

export function levelCount(topic: string): number {
  let count = 1;
  for (let at = topic.indexOf('/'); at >= 0; at = topic.indexOf('/', at + 1)) count++;
  return count;
}

/** Of a filter whose wildcards stand where they may. */
export function wildcardCount(filter: string): number {
  let count = 0;
  for (let at = 0; at < filter.length; at++) {
    const character = filter.charCodeAt(at);
    if (character === PLUS || character === HASH) count++;
  }
  return count;
}

/** A topic name without wildcards that is not empty [MQTT-3.3.2-2] [MQTT-4.7.3-1]. */
export function isTopicName(topic: string): boolean {
  return topic !== '' && !topic.includes('+') && !topic.includes('#');
}

/** `+` and `#` fill a level, and `#` is the last [MQTT-4.7.1-1] [MQTT-4.7.1-2]. */
export function isTopicFilter(filter: string): boolean {
  for (let at = 0; at < filter.length; at++) {
    const character = filter.charCodeAt(at);
    if (character !== PLUS && character !== HASH) continue;
    if (at > 0 && filter.charCodeAt(at - 1) !== SLASH) return false;
    const isLast = at === filter.length - 1;
    if (character === HASH ? !isLast : !isLast && filter.charCodeAt(at + 1) !== SLASH) return false;
  }
  return filter !== '';
}

export function isShared(filter: string): boolean {
  return filter.startsWith(SHARE_PREFIX);
}

/** Of a shared filter, what topics are held against. */
export function sharedFilterOf(filter: string): string {
  return filter.slice(filter.indexOf('/', SHARE_PREFIX.length) + 1);
}

/** A share name has at least one character and neither `/`, `+` nor `#`, and a filter follows [MQTT-4.8.2-1] [MQTT-4.8.2-2]. */
export function isSharedFilter(filter: string): boolean {
  const nameEnd = filter.indexOf('/', SHARE_PREFIX.length);
  if (nameEnd <= SHARE_PREFIX.length) return false;
  const name = filter.slice(SHARE_PREFIX.length, nameEnd);
  return isTopicName(name) && isTopicFilter(filter.slice(nameEnd + 1));
}

/** Ends the connection: a filter that breaks its own grammar is more than a subscription refused (section 4.13). */
export function checkTopicFilter(filter: string): void {
  if (isShared(filter) ? isSharedFilter(filter) : isTopicFilter(filter)) return;
  throw new MqttError('topic-filter', REASON.TOPIC_FILTER_INVALID, 'A topic filter with misplaced wildcards');
}

const PLUS = 0x2b;
const HASH = 0x23;
const SLASH = 0x2f;
