// Where the hub and its peers differ, and why.
import type { Difference } from './comparison.ts';

export interface Exception {
  readonly scenario: RegExp;
  readonly place: RegExp;
  /** What the peer says, as the hub does. */
  readonly translated?: (peer: string) => string;
  /** What each of them says, where that is no translation. */
  readonly peer?: RegExp;
  readonly hub?: RegExp;
  /** Nobody waits long for what the peer brings and the hub does not. */
  readonly hubBringsLess?: true;
  readonly reason: string;
}

const ANYTHING = /^/;
const NOTHING = /^nothing$/;

export function allows(exception: Exception, difference: Difference): boolean {
  const { scenario, place, translated, peer = ANYTHING, hub = ANYTHING } = exception;
  if (!scenario.test(difference.scenario) || !place.test(difference.place)) return false;
  if (translated !== undefined) return translated(difference.peer) === difference.hub;
  return peer.test(difference.peer) && hub.test(difference.hub);
}

/** Two deliveries of which the hub makes the second one alone, its first. */
const secondAlone = (peer: string): string =>
  peer.replace(/^.*? (?=\{"payload")/, '').replace('"identifier":2', '"identifier":1');

/** Each payload once; of what is released, two. */
const withoutRepeats = (peer: string): string =>
  peer.startsWith('{"identifier"')
    ? peer.replace(/^(\{[^}]*\} \{[^}]*\}) .*$/, '$1')
    : peer
        .split(' ')
        .filter((told, index, all) => all.findIndex((each) => payloadOf(each) === payloadOf(told)) === index)
        .join(' ');

const payloadOf = (told: string): string => /"payload":"[^"]*"/.exec(told)?.[0] ?? told;

export const MOSQUITTO: readonly Exception[] = [
  {
    scenario: /^5 /,
    place: / puback$/,
    translated: (peer) => peer.replaceAll('"reasonCode":16', '"reasonCode":0'),
    reason: '"No matching subscribers" (0x10) is for a server to say or not (section 3.4.2.1)',
  },
  {
    scenario: /^5 flow: (PUBREL|PUBREC) of nothing$/,
    place: /^a 1 (pubcomp|pubrel)$/,
    translated: (peer) => peer.replace('"reasonCode":0', '"reasonCode":146'),
    reason: 'an identifier that nobody knows is answered with 0x92 (sections 3.6.2.1 and 3.7.2.1)',
  },
  {
    scenario: /^5 filter that is none: [^$]/,
    place: /^a 1 disconnect$/,
    translated: (peer) => peer.replace('129', '143'),
    reason: 'a filter that is none is "Topic Filter invalid" (0x8F) before it is "Malformed Packet"',
  },
  {
    scenario: /^[45] filter that is none: \$share/,
    place: /^a 1 (suback|pingresp)$/,
    peer: /^(\{\}|\{"identifier":10,"granted":\[1\]\})$/,
    hub: NOTHING,
    hubBringsLess: true,
    reason: 'mosquitto takes a share without a name or a filter as a name; what is none is not subscribed to',
  },
  {
    scenario: /^[45] filter that is none: \$share/,
    place: /^a 1 (disconnect|end)$/,
    peer: NOTHING,
    hub: /^(end|\{"reasonCode":143\})$/,
    reason: 'a share name is not empty, and a filter is behind it [MQTT-4.8.2-1]',
  },
  {
    scenario: /retained: .*not for a shared subscription/,
    place: /^a 1 ~\/t$/,
    translated: secondAlone,
    hubBringsLess: true,
    reason: 'a shared subscription is sent no retained messages (section 4.8.2)',
  },
  {
    scenario: /^5 no local: not with a shared subscription/,
    place: /^a 1 (suback|disconnect|end)$/,
    peer: /^(nothing|\{"identifier":10,"granted":\[1\]\})$/,
    hub: /^(nothing|end|\{"reasonCode":130\})$/,
    reason: 'No Local with a shared subscription is a protocol error [MQTT-3.8.3-4]',
  },
  {
    scenario: /^4 overlap: .*at different QoS/,
    place: /^a 1 (~\/t|pubrel)$/,
    peer: /^(nothing|\{"payload":"x","qos":0,"dup":false,"retain":false\})$/,
    hub: /^(\{"identifier":"its own"\}|\{"payload":"x","qos":2,"dup":false,"retain":false,"identifier":1\})$/,
    reason: 'one copy at the highest QoS [MQTT-3.3.5-1] of 3.1.1, where mosquitto sends one at any QoS',
  },
  {
    scenario: /^5 overlap: /,
    place: /^\w+ 1 (~\/t|pubrel)$/,
    peer: /^(\{"payload":"x","qos":\d,[^ ]*\}\}?( |$)){2,}$|^(\{"identifier":"its own"[^ ]*( |$)){2,}$/,
    hub: /^\{"payload":"x","qos":2,"dup":false,"retain":false,"identifier":1[^ ]*\}$|^\{"identifier":"its own"[^ ]*\}$/,
    hubBringsLess: true,
    reason:
      'one copy at the highest QoS with all identifiers [MQTT-3.3.4-2], where mosquitto sends one for each filter',
  },
  {
    scenario: /^5 (.*taken over|takeover: )/,
    place: /^\w+ \d disconnect$/,
    peer: NOTHING,
    hub: /^\{"reasonCode":142\}$/,
    reason: 'who is taken over is told so (0x8E) [MQTT-3.1.4-3]',
  },
  {
    scenario:
      /^5 (will: .*breaks the protocol|bad: (AUTH without a method|a property twice)|limits: Receive Maximum of 0)$/,
    place: / (disconnect|connack)$/,
    peer: NOTHING,
    hub: /^\{("code"|"reasonCode"):(129|130)[,}]/,
    reason: 'a protocol error is told, where mosquitto just ends (section 4.13)',
  },
  {
    scenario: /^5 bad: a payload format of 2$/,
    place: /^a 1 (disconnect|end)$/,
    peer: NOTHING,
    hub: /^(end|\{"reasonCode":130\})$/,
    reason:
      'a payload format other than 0 and 1 is a protocol error (section 2.2.2.2), which mosquitto lets pass',
  },
  {
    scenario: /^5 bad: (Retain Handling 3|a Subscription Identifier of 0)$/,
    place: /^a 1 disconnect$/,
    translated: (peer) => peer.replace('129', '130'),
    reason:
      'the standard calls it a protocol error (0x82), mosquitto malformed (sections 3.8.3.1 and 3.8.2.1.2)',
  },
  {
    scenario: /^4 bad: (SUBACK|UNSUBACK|PINGRESP|PINGREQ with|PUBACK with flags)/,
    place: /^a 1 (end|pingresp)$/,
    peer: /^(nothing|\{\})$/,
    hub: /^(nothing|end)$/,
    hubBringsLess: true,
    reason:
      'what a client may not send, or with flags or a body that it has not, ends the connection [MQTT-2.2.2-2] [MQTT-4.8.0-1]',
  },
  {
    scenario: /^5 limits: Receive Maximum of 2/,
    place: /^a 1 ~\/t$/,
    translated: (peer) => peer.replace(/ \{"payload":"zero","qos":0,.*\}$/, ''),
    hubBringsLess: true,
    reason: 'QoS 0 may wait too while nothing else may be sent (section 4.9)',
  },
];

/** aedes' own deviations from 3.1.1, which the hub does not share. */
export const AEDES: readonly Exception[] = [
  {
    scenario: /flow: (DUP of the publisher|a QoS 2 publish that comes twice)/,
    place: /^a 1 (~\/t|pubrel)$/,
    translated: (peer) => withoutRepeats(peer).replace('"dup":true', '"dup":false'),
    reason:
      'passes DUP of the publisher on [MQTT-3.3.1-3], and now and then a QoS 2 message twice [MQTT-4.3.3-2]',
  },
  {
    scenario: /(flow: many in a row|retained: at QoS 2|qos: published at 2, subscribed at 1|mixed)/,
    place: / ~\/[^ ]*$/,
    translated: (peer) => peer.replaceAll('"qos":2', '"qos":1'),
    reason: 'delivers at the QoS of the message where the subscription has a lower one [MQTT-3.8.4-6]',
  },
  {
    scenario: /(flow: many in a row|retained: at QoS 2|qos: published at 2, subscribed at 1|mixed)/,
    place: / pubrel$/,
    peer: /^(\{"identifier":"its own"\}( |$))+$/,
    hub: NOTHING,
    hubBringsLess: true,
    reason: 'delivers at the QoS of the message where the subscription has a lower one, and releases it',
  },
  {
    scenario: / overlap: /,
    place: /^\w+ 1 (~\/t|pubrel)$/,
    peer: /^(nothing|\{"payload":"x","qos":[01],"dup":false,"retain":false(,"identifier":1)?\})$/,
    hub: /^(\{"identifier":"its own"\}|\{"payload":"x","qos":2,"dup":false,"retain":false,"identifier":1\})$/,
    reason: 'delivers at any QoS of the filters that match, not the highest [MQTT-3.3.5-1]',
  },
  {
    scenario: /session: (there is none at first|a QoS 2 publish goes on)/,
    place: / connack$/,
    translated: (peer) => peer.replace('"sessionPresent":false', '"sessionPresent":true'),
    reason: 'says that there is no session where it has no subscription [MQTT-3.2.2-2]',
  },
  {
    scenario: /session: what was not acknowledged/,
    place: /^a 2 ~\/t$/,
    translated: (peer) => peer.replace(/("payload":"(?:one|two)","qos":\d,"dup":)false/g, '$1true'),
    reason: 'sends again without DUP [MQTT-3.3.1-1]',
  },
  {
    scenario: /session: PUBREL comes again/,
    place: /^a (1 end|1 pubrel|2 ~\/t)$/,
    hubBringsLess: true,
    reason: 'does not know a PUBREC of its own message, and sends the message again [MQTT-4.4.0-1]',
  },
  {
    scenario: /session: retained messages come while it was away/,
    place: /^a 2 ~\/t$/,
    translated: (peer) => peer.replace('"retain":true', '"retain":false'),
    reason: 'sets RETAIN on what a session was sent live [MQTT-3.3.1-9]',
  },
  {
    scenario: /limits: no client identifier and a session to keep/,
    place: /^a 1 (connack|end)$/,
    peer: /^(nothing|\{"code":0,.*)$/,
    hub: /^(end|\{"code":2,.*)$/,
    reason: 'takes a client without identifier that wants a session [MQTT-3.1.3-8]',
  },
  {
    scenario: /( shared: |retained: .*not for a shared|to the members of a group)/,
    place: / ~\/[^ ]*$/,
    peer: NOTHING,
    hub: /^\{"payload":/,
    reason: 'has no shared subscriptions: they are not of 3.1.1',
  },
  {
    scenario: /filter that is none: \$share/,
    place: /^a 1 (suback|pingresp|end)$/,
    peer: /^(nothing|\{\}|\{"identifier":10,"granted":\[1\]\})$/,
    hub: /^(nothing|end)$/,
    hubBringsLess: true,
    reason: 'takes a share without a name or a filter as any other filter',
  },
  {
    scenario:
      /bad: (PINGREQ with a body|PUBLISH with identifier 0|PUBLISH to a topic (that|with U)|PUBACK without|SUBSCRIBE with identifier 0|UNSUBSCRIBE of nothing|a will at QoS 3|a password without)/,
    place: /^a 1 (connack|puback|suback|unsuback|pingresp|end)$/,
    peer: /^(nothing|\{.*\})$/,
    hub: /^(nothing|end)$/,
    hubBringsLess: true,
    reason: 'goes on after packets that are malformed [MQTT-4.8.0-1]',
  },
  {
    scenario: /bad: a version to come/,
    place: /^a 1 connack$/,
    peer: NOTHING,
    hub: /^\{"code":1,/,
    reason: 'ends the connection without CONNACK 0x01 [MQTT-3.1.2-2]',
  },
];
