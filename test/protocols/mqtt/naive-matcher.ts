// The rule of section 4.7, written again from its text and recursively: what the tree is compared with.

export function naiveMatch(filter: readonly string[], topic: readonly string[], atRoot = true): boolean {
  const [level, ...filterRest] = filter;
  if (level === undefined) return topic.length === 0;
  const isWildcard = level === '+' || level === '#';
  if (atRoot && isWildcard && topic[0]?.startsWith('$')) return false;
  if (level === '#') return true;
  const [name, ...topicRest] = topic;
  if (name === undefined) return false;
  return (level === '+' || level === name) && naiveMatch(filterRest, topicRest, false);
}

export function naiveMatches(filter: string, topic: string): boolean {
  return naiveMatch(filter.split('/'), topic.split('/'));
}
