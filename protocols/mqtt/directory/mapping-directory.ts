// Which Kafka topic has which MQTT topics, by the rules at work: asked for a topic, a filter, or a record on the way back.
import type {
  FilterMapping,
  MappingDirectory,
  MappingView,
  RecordMapping,
  TopicMapping,
} from '../../port.ts';
import type { Context } from '../client.ts';
import { FOREIGN_QOS } from '../deliveries.ts';
import { MqttError } from '../errors.ts';
import { filterPattern, rulesReaching } from '../mapping/reach.ts';
import type { CompiledRule, MappingRule } from '../mapping/rule.ts';
import { mayNameTopic } from '../record-topic.ts';
import { isShared, isSharedFilter, isTopicFilter, isTopicName, sharedFilterOf } from '../topic-filter.ts';

export function mappingDirectory(context: Context): MappingDirectory {
  const { hub, mappings, options, routes } = context;

  const indexOf = (rule: CompiledRule | undefined): number =>
    rule === undefined ? -1 : mappings.rules.indexOf(rule);

  function ofTopic(topic: string, clientId: string): TopicMapping | string {
    const bytes = Buffer.from(topic);
    try {
      const found = routes.find(bytes, 0, bytes.length);
      const route = found.namesClient ? found.ofClient(new Map(), clientId) : found;
      const { rule, kafkaTopic } = mappings.map(topic);
      return {
        rule: indexOf(rule),
        topic: kafkaTopic,
        partition: route.partition()?.partition ?? -1,
        key: route.recordKey.toString('utf8'),
        publishes: route.refusal === 0,
        delivers: rule?.rule.direction !== 'in',
      };
    } catch (error) {
      if (error instanceof MqttError) return error.message;
      throw error;
    }
  }

  function ofFilter(filter: string): FilterMapping | string {
    const isLegal = isShared(filter) ? isSharedFilter(filter) : isTopicFilter(filter);
    if (!isLegal) return '+ and # fill a level, and # is the last';
    if (Buffer.byteLength(filter) > options.topicBytesMax) return 'the filter is too long';
    const plain = isShared(filter) ? sharedFilterOf(filter) : filter;
    const pattern = filterPattern(plain);
    const own = isTopicName(plain) ? mappings.map(plain) : undefined;
    const topics = hub.topics
      .list()
      .filter(({ internal }) => !internal)
      .flatMap(({ name, partitions }) => {
        const rules = rulesReaching(pattern, name, mappings.rules);
        if (rules.length === 0) return [];
        // One MQTT topic stays on one partition, unless its key differs from client to client.
        const isOne = own?.kafkaTopic === name && own.rule?.keyNamesClient !== true;
        const only = isOne ? [hub.partitionFor(Buffer.from(own.keyOf('')), partitions.length)] : undefined;
        return [{ topic: name, rules, partitions: only ?? partitions.map(({ partition }) => partition) }];
      });
    return { topics };
  }

  function ofRecord(topic: string, key: Buffer | null, named: Buffer | undefined): RecordMapping {
    const { messageTopic, by } = messageTopicOf(topic, key, named);
    const { rule } = mappings.map(messageTopic);
    return {
      messageTopic,
      by,
      rule: indexOf(rule),
      delivers: rule?.rule.direction !== 'in',
      qos: rule?.rule.qos ?? FOREIGN_QOS,
    };
  }

  /** In the order of record-topic.ts. */
  function messageTopicOf(
    topic: string,
    key: Buffer | null,
    named: Buffer | undefined,
  ): Pick<RecordMapping, 'messageTopic' | 'by'> {
    const isTopic = (bytes: Buffer): boolean => mayNameTopic(bytes, 0, bytes.length, options.topicLevelsMax);
    if (named !== undefined && isTopic(named)) return { messageTopic: named.toString('utf8'), by: 'header' };
    const name = mappings.nameOf(topic);
    const bytes = key ?? Buffer.alloc(0);
    const end = key === null ? -1 : bytes.length;
    const told = name.wayBack && mappings.mqttTopicOf(name.wayBack, bytes, key === null ? -1 : 0, end);
    if (told !== undefined && isTopic(told)) return { messageTopic: told.toString('utf8'), by: 'rule' };
    const continues = key?.subarray(0, name.keyPrefix.length).equals(name.keyPrefix) === true;
    if (key !== null && continues && isTopic(key)) return { messageTopic: key.toString('utf8'), by: 'key' };
    return { messageTopic: topic, by: 'name' };
  }

  return { list: () => mappings.rules.map(({ rule }) => viewOf(rule)), ofTopic, ofFilter, ofRecord };
}

function viewOf(rule: MappingRule): MappingView {
  const { match, preset, topic, key, qos, retain, direction, isolation, replay, declaredAt } = rule;
  return { match, preset, topic, key, qos, retain, direction, isolation, replay, declaredAt };
}
