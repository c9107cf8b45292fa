// From what the coordinator says of groups to what an HTTP client is told.
import type { GroupDirectory, GroupError, GroupView } from '../../protocols/port.ts';
import { AdminError, type ErrorCode } from './errors.ts';

const GROUP_CODES: Readonly<Record<GroupError['error'], ErrorCode>> = {
  'unknown-group': 'not_found',
  'not-empty': 'group_not_empty',
  subscribed: 'group_subscribed',
  unavailable: 'not_ready',
  limit: 'limit_reached',
  storage: 'storage',
};

const GROUP_HINTS: Readonly<Partial<Record<GroupError['error'], string>>> = {
  'not-empty': 'stop its consumers first',
  subscribed: 'stop the consumers of the topic first',
};

export function groupError({ error, message }: GroupError): AdminError {
  const hint = GROUP_HINTS[error];
  return new AdminError(GROUP_CODES[error], message, {
    field: 'group',
    ...(hint === undefined ? {} : { hint }),
  });
}

/** @throws AdminError not_found */
export function knownGroup(groups: GroupDirectory, groupId: string): GroupView {
  const group = groups.get(groupId);
  if (group !== undefined) return group;
  throw new AdminError('not_found', `there is no group ${groupId}`, { field: 'group' });
}
