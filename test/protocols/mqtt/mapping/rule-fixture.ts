// A mapping rule with the configuration's defaults.
import type { MappingRule } from '../../../../protocols/mqtt/mapping/rule.ts';

export function mappingRule(rule: Partial<MappingRule> & { readonly match: string }): MappingRule {
  return {
    key: '{mqttTopic}',
    qos: 1,
    retain: 'store',
    direction: 'both',
    isolation: 'read_committed',
    replay: true,
    ...rule,
  };
}
