// Two servers' transcripts of a scenario, side by side.
import type { Played } from './play.ts';
import type { Scenario } from './scenario.ts';

export interface Difference {
  /** `<version> <scenario>` */
  readonly scenario: string;
  /** `<client> <nth connection> <kind of packet, or topic>`, or `members <topic>` */
  readonly place: string;
  readonly peer: string;
  readonly hub: string;
}

export function differences(
  { version, name, members = [] }: Scenario,
  peer: Played,
  hub: Played,
): Difference[] {
  const [ofPeer, ofHub] = [told(peer, members), told(hub, members)];
  return [...new Set([...ofPeer.keys(), ...ofHub.keys()])]
    .filter((place) => ofPeer.get(place) !== ofHub.get(place))
    .map((place) => ({
      scenario: `${version} ${name}`,
      place,
      peer: ofPeer.get(place) ?? 'nothing',
      hub: ofHub.get(place) ?? 'nothing',
    }));
}

/** What was told at each place. */
function told({ transcripts }: Played, members: readonly string[]): Map<string, string> {
  const places = new Map<string, string>();
  const shared = new Map<string, string[]>();
  for (const [connection, { answers, deliveries }] of transcripts) {
    const isMember = members.includes(connection.split(' ')[0] ?? '');
    for (const [kind, each] of Object.entries(answers)) {
      // How many a member is released depends on how many it is given.
      if (!(isMember && kind === 'pubrel')) places.set(`${connection} ${kind}`, each.join(' '));
    }
    for (const [topic, each] of Object.entries(deliveries)) {
      if (isMember) shared.set(topic, [...(shared.get(topic) ?? []), ...each.map(withoutIdentifier)]);
      else places.set(`${connection} ${topic}`, each.join(' '));
    }
  }
  for (const [topic, each] of shared) places.set(`members ${topic}`, each.sort().join(' '));
  return places;
}

const withoutIdentifier = (delivery: string): string => delivery.replace(/,"identifier":\d+/, '');
