// Two servers' transcripts of a scenario, side by side.
import type { Played } from './play.ts';
import type { Transcript } from './played-client.ts';

export interface Difference {
  /** `<version> <scenario>` */
  readonly scenario: string;
  /** `<client> <nth connection> <kind of packet, or topic>` */
  readonly place: string;
  readonly peer: string;
  readonly hub: string;
}

export function differences(scenario: string, peer: Played, hub: Played): Difference[] {
  return [...peer.transcripts].flatMap(([connection, transcript]) => {
    const [ofPeer, ofHub] = [flat(transcript), flat(hub.transcripts.get(connection))];
    return [...new Set([...ofPeer.keys(), ...ofHub.keys()])]
      .filter((place) => ofPeer.get(place) !== ofHub.get(place))
      .map((place) => ({
        scenario,
        place: `${connection} ${place}`,
        peer: ofPeer.get(place) ?? 'nothing',
        hub: ofHub.get(place) ?? 'nothing',
      }));
  });
}

function flat(transcript: Transcript | undefined): Map<string, string> {
  const { answers = {}, deliveries = {} } = transcript ?? {};
  return new Map(
    [...Object.entries(answers), ...Object.entries(deliveries)].map(([place, told]) => [
      place,
      told.join(' '),
    ]),
  );
}
