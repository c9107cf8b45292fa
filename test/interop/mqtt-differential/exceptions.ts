// Where the hub and its peers differ, and why.
import type { Difference } from './comparison.ts';

export interface Exception {
  readonly scenario: RegExp;
  readonly place?: RegExp;
  /** What the peer says, as the hub does; any difference at this place without it. */
  readonly translated?: (peer: string) => string;
  readonly reason: string;
}

export function allows(exception: Exception, difference: Difference): boolean {
  const { scenario, place = /^/, translated } = exception;
  if (!scenario.test(difference.scenario) || !place.test(difference.place)) return false;
  return translated === undefined || translated(difference.peer) === difference.hub;
}

export const MOSQUITTO: readonly Exception[] = [
  {
    scenario: /^5 /,
    place: /puback$/,
    translated: (peer) => peer.replaceAll('"reasonCode":16', '"reasonCode":0'),
    reason: '"No matching subscribers" (0x10) is for a server to say or not (section 3.4.2.1)',
  },
  {
    scenario: /^5 flow: (PUBREL|PUBREC) of nothing$/,
    translated: (peer) => peer.replace('"reasonCode":0', '"reasonCode":146'),
    reason: 'an identifier that nobody knows is answered with 0x92 (sections 3.6.2.1 and 3.7.2.1)',
  },
  {
    scenario: /^5 filter that is none: [^$]/,
    place: /disconnect$/,
    translated: (peer) => peer.replace('129', '143'),
    reason: 'a filter that is none is "Topic Filter invalid" (0x8F) before it is "Malformed Packet"',
  },
  {
    scenario: /filter that is none: \$share/,
    reason:
      'a share name is not empty, and a filter is behind it [MQTT-4.8.2-1]; mosquitto takes what is not so as a name',
  },
  {
    scenario: /retained: not for a shared subscription/,
    place: /~\/t$/,
    reason: 'a shared subscription is sent no retained messages (section 4.8.2)',
  },
  {
    scenario: /no local: not with a shared subscription/,
    reason: 'No Local with a shared subscription is a protocol error [MQTT-3.8.3-4]',
  },
  {
    scenario: / overlap: /,
    place: / (~\/t|pubrel)$/,
    reason:
      'one copy at the highest QoS with all identifiers [MQTT-3.3.4-2], where mosquitto sends one for each filter, or of 3.1.1 one at any QoS',
  },
  {
    scenario: /^5 (session|will): .*taken over/,
    place: /^[ab] 1 disconnect$/,
    reason: 'who is taken over is told so (0x8E) [MQTT-3.1.4-3]',
  },
  {
    scenario: /^5 (will: when the client breaks the protocol|bad: |limits: Receive Maximum of 0)/,
    place: /(disconnect|connack|end)$/,
    reason:
      'a protocol error is told with its own code, where mosquitto just ends or says 0x81 (section 4.13)',
  },
  {
    scenario: /^4 bad: (SUBACK|UNSUBACK|PINGRESP|PINGREQ with|PUBACK with flags)/,
    reason:
      'what a client may not send, or with flags or a body that it has not, ends the connection [MQTT-2.2.2-2] [MQTT-4.8.0-1]',
  },
  {
    scenario: /^5 limits: Receive Maximum of 2/,
    place: /~\/t$/,
    reason: 'QoS 0 may wait too while nothing else may be sent (section 4.9)',
  },
];

/** aedes' own deviations from 3.1.1, which the hub does not share. */
export const AEDES: readonly Exception[] = [
  {
    scenario: /flow: (DUP of the publisher|a QoS 2 publish that comes twice)/,
    reason:
      'passes DUP of the publisher on [MQTT-3.3.1-3], and now and then a QoS 2 message twice [MQTT-4.3.3-2]',
  },
  {
    scenario: /(flow: many in a row|retained: at QoS 2|qos: published at 2, subscribed at 1)/,
    reason: 'delivers at the QoS of the message where the subscription has a lower one [MQTT-3.8.4-6]',
  },
  {
    scenario: / overlap: /,
    reason: 'delivers at any QoS of the filters that match, not the highest [MQTT-3.3.5-1]',
  },
  {
    scenario: /session: (there is none at first|a QoS 2 publish goes on)/,
    place: /connack$/,
    reason: 'says that there is no session where it has no subscription [MQTT-3.2.2-2]',
  },
  {
    scenario: /session: what was not acknowledged/,
    reason: 'sends again without DUP [MQTT-3.3.1-1]',
  },
  {
    scenario: /session: PUBREL comes again/,
    reason: 'does not know a PUBREC of its own message, and sends the message again [MQTT-4.4.0-1]',
  },
  {
    scenario: /session: retained messages come while it was away/,
    reason: 'sets RETAIN on what a session was sent live [MQTT-3.3.1-9]',
  },
  {
    scenario: /limits: no client identifier and a session to keep/,
    reason: 'takes a client without identifier that wants a session [MQTT-3.1.3-8]',
  },
  {
    scenario: /( shared: |filter that is none: \$share|retained: not for a shared)/,
    reason: 'has no shared subscriptions: they are not of 3.1.1',
  },
  {
    scenario:
      /bad: (PINGREQ with a body|PUBLISH with identifier 0|PUBLISH to a topic (that|with)|PUBACK without|SUBSCRIBE with identifier 0|UNSUBSCRIBE of nothing|a will at QoS 3|a password without)/,
    reason: 'goes on after packets that are malformed [MQTT-4.8.0-1]',
  },
  {
    scenario: /bad: a version to come/,
    place: /connack$/,
    reason: 'ends the connection without CONNACK 0x01 [MQTT-3.1.2-2]',
  },
];
