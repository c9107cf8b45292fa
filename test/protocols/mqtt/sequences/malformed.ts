// What no client may send, as bytes: below version 5 the connection ends, in 5 the client is told why.
import { BEFORE_5, ONLY_5, type Sequence, sequence } from './sequence.ts';

/** Below 5 and in 5; the lines may say what differs. */
const ends = (name: string, code: string, line: string): Sequence[] => [
  sequence(name, BEFORE_5, `a> ${line}`, 'a!'),
  sequence(`5: ${name}`, ONLY_5, `a> ${line}`, `a< e0 ${code} *`, 'a!'),
];
const only5 = (name: string, code: string, line: string): Sequence =>
  sequence(`5: ${name}`, ONLY_5, `a> ${line}`, `a< e0 ${code} *`, 'a!');

const MALFORMED = '81';
const PROTOCOL_ERROR = '82';

export const malformed: readonly Sequence[] = [
  ...ends('packet type 0 (2.1.2)', PROTOCOL_ERROR, '00'),
  ...ends('CONNACK', PROTOCOL_ERROR, '20 0000'),
  ...ends('SUBACK', PROTOCOL_ERROR, '90 0001 ~ 00'),
  ...ends('UNSUBACK', PROTOCOL_ERROR, 'b0 0001 {5: 00 00}'),
  ...ends('PINGRESP', PROTOCOL_ERROR, 'd0'),
  ...ends('a remaining length of five bytes [MQTT-1.5.5-1]', MALFORMED, 'raw 30 ffffffff7f'),
  ...ends('QoS 3 [MQTT-3.3.1-4]', MALFORMED, '36 "t" 0001 ~ \'x\''),
  ...ends('DUP at QoS 0 [MQTT-3.3.1-2]', MALFORMED, '38 "t" ~ \'x\''),
  ...ends('QoS 1 of identifier 0 [MQTT-2.2.1-3]', PROTOCOL_ERROR, '32 "t" 0000 ~ \'x\''),
  ...ends('a topic with + [MQTT-3.3.2-2]', '90', '30 "t/+" ~'),
  ...ends('a topic with # [MQTT-3.3.2-2]', '90', '30 "#" ~'),
  ...ends('an empty topic [MQTT-4.7.3-1]', PROTOCOL_ERROR, '30 "" ~'),
  ...ends('a topic that is no UTF-8 [MQTT-1.5.4-1]', MALFORMED, '30 0002 c328 ~'),
  ...ends('a topic with a surrogate [MQTT-1.5.4-1]', MALFORMED, '30 0003 eda080 ~'),
  ...ends('a topic with U+0000 [MQTT-1.5.4-2]', MALFORMED, '30 0001 00 ~'),
  ...ends('a topic beyond the end', MALFORMED, '30 0009 61'),
  ...ends('PUBACK without an identifier', MALFORMED, '40'),
  ...ends('PUBACK of identifier 0', PROTOCOL_ERROR, '40 0000'),
  ...ends('PUBREC without an identifier', MALFORMED, '50 01'),
  ...ends('PUBREL with flags 0 [MQTT-3.6.1-1]', MALFORMED, '60 0001').slice(1),
  ...ends('SUBSCRIBE of nothing [MQTT-3.8.3-2]', PROTOCOL_ERROR, '82 0001 ~'),
  ...ends('SUBSCRIBE of identifier 0', PROTOCOL_ERROR, '82 0000 ~ "t" 00'),
  ...ends('SUBSCRIBE at QoS 3 (3.8.3.1)', PROTOCOL_ERROR, '82 0001 ~ "t" 03'),
  ...ends('SUBSCRIBE without options', MALFORMED, '82 0001 ~ "t"'),
  ...ends('SUBSCRIBE to t# [MQTT-4.7.1-1]', '8f', '82 0001 ~ "t#" 00'),
  ...ends('SUBSCRIBE to #/t [MQTT-4.7.1-1]', '8f', '82 0001 ~ "#/t" 00'),
  ...ends('SUBSCRIBE to t+ [MQTT-4.7.1-2]', '8f', '82 0001 ~ "t+" 00'),
  ...ends('SUBSCRIBE to a share without a filter [MQTT-4.8.2-2]', '8f', '82 0001 ~ "$share/g" 00'),
  ...ends('UNSUBSCRIBE of nothing [MQTT-3.10.3-2]', PROTOCOL_ERROR, 'a2 0001 ~'),
  ...ends('UNSUBSCRIBE of identifier 0', PROTOCOL_ERROR, 'a2 0000 ~ "t"'),
  ...ends('PINGREQ with a body (3.12)', MALFORMED, 'c0 00'),
  only5('SUBSCRIBE with reserved bits [MQTT-3.8.3-5]', MALFORMED, '82 0001 00 "t" c0'),
  only5('Retain Handling 3 (3.8.3.1)', PROTOCOL_ERROR, '82 0001 00 "t" 30'),
  only5('No Local with a share [MQTT-3.8.3-4]', PROTOCOL_ERROR, '82 0001 00 "$share/g/t" 04'),
  only5('a Subscription Identifier of 0 (3.8.2.1.2)', PROTOCOL_ERROR, '82 0001 02 0b00 "t" 00'),
  only5('a Subscription Identifier of a client [MQTT-3.3.4-6]', PROTOCOL_ERROR, '30 "t" 02 0b01'),
  only5('a property twice (2.2.2.2)', PROTOCOL_ERROR, '30 "t" 04 0100 0100'),
  only5('a property of another packet (2.2.2.2)', MALFORMED, '30 "t" 03 210001'),
  only5('a property that there is not (2.2.2.2)', MALFORMED, '30 "t" 02 0401'),
  only5('a payload format of 2 (3.3.2.3.2)', PROTOCOL_ERROR, '30 "t" 02 0102'),
  only5('properties beyond the end', MALFORMED, '30 "t" 05 01'),
  only5('a property cut short', MALFORMED, '30 "t" 01 01'),
  only5('an overlong Property Length [MQTT-1.5.5-1]', MALFORMED, '30 "t" 8000'),
  only5('a response topic with # [MQTT-3.3.2-14]', PROTOCOL_ERROR, '30 "t" 04 08 "#"'),
  only5('PUBACK with a reason that there is not (3.4.2.1)', PROTOCOL_ERROR, '40 0001 01'),
  only5('DISCONNECT with a reason of servers (3.14.2.1)', PROTOCOL_ERROR, 'e0 8e'),
  only5('AUTH without a method (3.15.2.2.2)', PROTOCOL_ERROR, 'f0 19 00'),
];
