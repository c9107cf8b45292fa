// Every event that the log may hold: the logger that it belongs to, and what it says. A test holds this against the
// sources, and the table of README.md is made from it. Names do not change: people look for them.

export const LOGGERS = ['kafka', 'mqtt', 'admin', 'hub', 'storage'] as const;

/** A part of the hub whose level can be set apart. */
export type LoggerName = (typeof LOGGERS)[number];

export const EVENTS: Readonly<Record<LoggerName, Readonly<Record<string, string>>>> = {
  kafka: {
    'group-member-left': 'A member has left its group, and says why.',
    'group-member-removed': 'A member has not been heard of and is out of its group.',
    'group-not-created':
      'There are as many groups as there may be, of all clients or of the one at this address.',
    'group-state-not-written': 'A group could not be stored; its members are told to come again.',
    'group-state-unknown-record':
      'A record of groups has a form that this version does not know; it is left alone.',
    'group-state-unreadable': 'A record of groups is damaged; the group is as if it were not there.',
    'kafka-config-refused': "A change of a topic's configuration was refused.",
    'kafka-connection-closed': 'A connection was ended, and why.',
    'kafka-connection-failed': 'A connection broke.',
    'kafka-connection-refused': 'A connection was closed as soon as it was made: a limit.',
    'kafka-fetch-refused': 'A partition of a fetch could not be read.',
    'kafka-listener-failed': 'A listener that had been opened failed.',
    'kafka-request-failed': 'A request met a fault of ours; its client gets a general error.',
    'kafka-topic-refused': 'A topic was not created, and why.',
    'topic-regex-too-slow':
      'The regular expression of a subscription takes too long and matches no further topics.',
    'transaction-marker-given-up':
      'The end of a transaction could not be written to a partition, and will not be.',
    'transaction-marker-without-topic':
      'A topic was deleted before the end of a transaction was written to it.',
    'transaction-not-ended': 'The end of a transaction could not be written yet; it is tried again.',
    'transaction-state-not-written': 'A transaction could not be stored; its producer is told to come again.',
    'transaction-state-unknown-record':
      'A record of transactions has a form that this version does not know; it is left alone.',
    'transaction-state-unreadable': 'A record of transactions is damaged; the id is as if it were not there.',
    'transaction-timed-out': 'A transaction was open for too long; it is aborted, and its producer fenced.',
    'transaction-too-large':
      'A transaction has more partitions and groups than it may, or the memory for all is used up.',
    'transactional-id-not-created': 'There are as many transactional ids as there may be.',
  },
  mqtt: {
    'mqtt-abandoned': 'A connection was given up without a word to its client, and why.',
    'mqtt-checkpoint-failed': 'How far a log was searched for publishes of QoS 2 could not be stored.',
    'mqtt-client-overtaken': 'Retention has deleted what a client that is behind had not got.',
    'mqtt-connect-refused': 'A CONNECT was refused, and why.',
    'mqtt-connected': 'A client is connected.',
    'mqtt-connection-failed': 'A connection met a fault of ours and was ended.',
    'mqtt-delivery-failed': 'A record could not be sent to a client: a fault of ours. Those behind it go on.',
    'mqtt-disconnecting': 'A client did what it may not, and is disconnected.',
    'mqtt-dispatcher-cannot-read': 'The records of a partition cannot be read for subscribers now.',
    'mqtt-dispatcher-overtaken': 'Retention has deleted records before subscribers got them.',
    'mqtt-exchange-lost': 'What a client was being sent is gone from the log; it gets no more of it.',
    'mqtt-listener-failed': 'A listener that had been opened failed.',
    'mqtt-message-dropped': 'A message was not sent to a client, and why.',
    'mqtt-not-retained': 'A message is not retained: a limit.',
    'mqtt-proxy-header': 'What a proxy sent is no PROXY header; the connection is closed.',
    'mqtt-proxy-not-trusted': 'A connection came from elsewhere than from a trusted proxy, and was closed.',
    'mqtt-publish-failed': 'A publish from the admin API met a fault of ours.',
    'mqtt-publish-refused': 'A publish was refused, with its reason code.',
    'mqtt-queue-limit': 'Messages that waited for a client were skipped: a limit.',
    'mqtt-queue-not-read': 'What waits for a client cannot be read now.',
    'mqtt-replay-failed': 'Where history begins could not be found; the subscription begins now.',
    'mqtt-resumption-failed': 'What a session was being sent could not be sent again.',
    'mqtt-retained-not-sent': 'Retained messages could not be read for a subscription.',
    'mqtt-retained-not-written': 'Retained messages could not be stored; it is tried again.',
    'mqtt-search-failed': 'A log could not be searched for publishes of QoS 2.',
    'mqtt-session-expired': 'A session has ended, because its client stayed away.',
    'mqtt-session-incomplete':
      'What a client had published when the hub crashed could not be stored with its session; it stays out until then.',
    'mqtt-session-not-ended': 'The end of a session could not be stored.',
    'mqtt-session-not-stored': 'A session could not be stored.',
    'mqtt-session-record-unknown':
      'A record of sessions has a form that this version does not know; it is left alone.',
    'mqtt-session-unreadable': 'A record of sessions is damaged; the session is as if it were not there.',
    'mqtt-shared-not-read': 'What is owed to the members of a shared subscription cannot be read now.',
    'mqtt-shared-not-stored': 'Where a shared subscription is could not be stored.',
    'mqtt-shared-unreadable': 'The record of a shared subscription is damaged; it begins now.',
    'mqtt-socket-error': 'A connection broke.',
    'mqtt-too-many-connections': 'A connection was closed as soon as it was made: the limit of its listener.',
    'mqtt-too-many-of-address': 'A connection was closed as soon as it was made: the limit of its address.',
    'mqtt-websocket-refused': 'A request is no WebSocket of MQTT, or comes from a page that may not connect.',
    'mqtt-will-refused': 'A will could not be published.',
  },
  admin: {
    'admin-read-failed': 'Records could not be read on for an answer that had begun; it ends there.',
    'admin-request-failed': 'A request to the admin API met a fault of ours.',
    'log-level-changed': 'The level of a logger was changed, or has gone back by itself.',
  },
  hub: {
    'aedes-log-unreadable': 'A log cannot be read for a broker of aedes now.',
    'aedes-message-failed': 'A broker of aedes did not take a message from the log.',
    'config-refused':
      'The configuration was read again and has problems; nothing has changed, but what it names as applied.',
    'config-reloaded':
      'The configuration was read again: what is in effect now, and what waits for a restart.',
    crashed: 'A fault of ours ends the process.',
    'declared-topic-differs': 'A topic has more partitions than are declared; they stay.',
    'disk-epoch-unknown': 'The leader epoch of a partition on disk cannot be told.',
    'failed-log-not-closed': 'A log that failed could not be closed before it was opened again.',
    'follower-beyond-end':
      'A log has lost its end in a crash; its follower goes on with what comes in its place.',
    'follower-failed': 'A follower of a log met a fault of ours; it goes on behind it.',
    'follower-read-failed': 'A log could not be read for a follower: a fault of ours.',
    'listener-failed': 'A part of the hub that is told of changes met a fault of ours.',
    'listener-not-closed': 'A listener that the configuration has no more took too long to close.',
    'partition-not-opened': 'A partition could not be opened; it answers with why, and the others serve.',
    'partition-reopened': 'A partition whose log had failed takes appends again.',
    'partitions-not-reopened': 'Partitions could not be opened again; it is tried again.',
    'notify-failed': 'systemd could not be told how the hub is.',
    ready: 'The hub serves, with its listeners. In JSON alone: otherwise the banner says so.',
    'repeats-left-out': 'An event came more often than it is written: how often, and the last one.',
    'start-failed': 'The hub could not start: a fault of ours.',
    started: 'The hub is open, with what its recovery took.',
    'state-not-loaded': 'The state in an internal topic cannot be loaded; what hangs on it is not served.',
    'stop-incomplete': 'A part of the hub did not stop in time.',
    'stop-took-too-long': 'The stop took longer than it may; the process ends.',
    stopped: 'The hub has stopped.',
    'stopped-at-once': 'A second signal ends the process at once.',
    stopping: 'A signal stops the hub.',
    'topic-configured': "A topic's configuration has changed.",
    'topic-created': 'A topic was made.',
    'topic-deleted': 'A topic was deleted.',
    'topic-extended': 'A topic has more partitions.',
    'topic-files-not-deleted':
      'The files of a deleted topic could not be deleted; it is tried again at the next start.',
    'topic-unknown': 'There are records of a topic on disk that nobody knows of.',
  },
  storage: {
    'compaction.damaged': 'A log cannot be compacted, because it is damaged.',
    'compaction.done': 'A log was compacted.',
    'compaction.failed': 'A log could not be compacted; it is tried again.',
    'compaction.file-not-removed': 'A file that compaction does not need any more could not be removed.',
    'compaction.pass': 'A part of a log was compacted.',
    'disk-space-back': 'There is room on the disk again; appends are taken.',
    'disk-space-short': 'Less is free on the disk than its reserve: appends are refused, reads go on.',
    'disk-space-unknown': 'The file system does not tell how much is free.',
    'index.damaged': 'The index is damaged; it is made anew from the logs.',
    'log.background-failed': 'Work in the background of a log failed.',
    'log.commit-listener-failed': 'A part of the hub that is told of commits met a fault of ours.',
    'log.compacting-not-removed': 'A file of an interrupted compaction could not be removed.',
    'log.cut-not-kept': 'A torn end could not be kept aside before it was cut.',
    'log.cut-not-removed': 'A file that was kept aside could not be removed.',
    'log.damaged': 'A log is damaged; it opens read-only, up to there.',
    'log.failed': 'A log takes no appends any more: a write or a flush failed. Reads go on.',
    'log.failure-listener-failed': 'A part of the hub that is told of failures met a fault of ours.',
    'log.index-not-read': 'The index of a log could not be read; the log is read instead.',
    'log.index-wrong': 'The index of a segment was wrong, and is made anew.',
    'log.manifest-damaged': "A log's manifest is damaged; it is made anew.",
    'log.no-room-ahead': 'No zeros could be written ahead of a log; its flushes take a little longer.',
    'log.not-compacted': 'A log could not be compacted in a round of maintenance.',
    'log.not-maintained': 'A log could not be looked after in a round of maintenance.',
    'log.not-taken-back': 'What a failed write had left could not be taken back.',
    'log.not-written-again': 'What was found at the end of a log could not be written again.',
    'log.records-missing': 'Records are gone from the end of a log that were on disk.',
    'log.segment-not-removed': 'A file that retention has given up could not be removed.',
    'log.tail-cut': 'A torn end, as a crash leaves it, was cut and kept aside.',
    'maintenance.failed': 'A round of maintenance met a fault of ours.',
    'state-not-applied': 'A record of the hub could not be put into effect: a fault of ours.',
    'state-record-refused': 'A record of the hub could not be read.',
    'state-record-without-key': 'A record of the hub has no key; it is passed over.',
    'topic.id-made-anew': "The file with a topic's id is damaged; it is made anew.",
    'topic.not-removed': 'The files of a deleted topic could not be removed.',
    'topic.set-aside': 'Files that lay where a new topic belongs were set aside.',
  },
};

const LOGGER_OF: ReadonlyMap<string, LoggerName> = new Map(
  LOGGERS.flatMap((logger) => Object.keys(EVENTS[logger]).map((event) => [event, logger] as const)),
);

export function loggerOf(event: string): LoggerName {
  return LOGGER_OF.get(event) ?? 'hub';
}

/** Markdown: logger, event, what it says. */
export function eventTable(): string {
  const rows = LOGGERS.flatMap((logger) =>
    Object.entries(EVENTS[logger]).map(([event, says]) => `| ${logger} | \`${event}\` | ${says} |`),
  );
  return ['| logger | event | what it says |', '| --- | --- | --- |', ...rows].join('\n');
}
