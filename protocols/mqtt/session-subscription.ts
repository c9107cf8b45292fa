// When a subscription begins, and what it matches, looked at one by one: for sessions that read the log themselves.
import type { LogSource } from './log-source.ts';

/** Whether a record is not older than a subscription. */
export function hasBegun(
  subscription: { readonly starts: ReadonlyMap<LogSource, number> },
  source: LogSource,
  offset: number,
): boolean {
  const start = subscription.starts.get(source);
  return start === undefined || offset >= start;
}

/** The rule of section 4.7 for one filter; all filters at once are in subscription-tree.ts. */
export function matchesFilter(filter: string, topic: string): boolean {
  const filterLevels = filter.split('/');
  const topicLevels = topic.split('/');
  // [MQTT-4.7.2-1]
  if (topic.startsWith('$') && (filterLevels[0] === '+' || filterLevels[0] === '#')) return false;
  for (let depth = 0; depth < filterLevels.length; depth++) {
    const level = filterLevels[depth];
    if (level === '#') return true;
    if (depth >= topicLevels.length || (level !== '+' && level !== topicLevels[depth])) return false;
  }
  return filterLevels.length === topicLevels.length;
}
