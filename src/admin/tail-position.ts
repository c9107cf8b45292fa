// How far a tail has come in each partition, as the id of an event: `0:120,1:55`. Whoever comes back with it goes on there.
import type { TopicView } from '../../protocols/port.ts';
import { AdminError } from './errors.ts';

/** Partition → the next offset. */
export type TailPosition = Map<number, number>;

export function positionText(position: TailPosition): string {
  let text = '';
  for (const [partition, offset] of position) text += `${text === '' ? '' : ','}${partition}:${offset}`;
  return text;
}

/** @throws AdminError when it is none of this topic */
export function readPosition(text: string, topic: TopicView): TailPosition {
  const position: TailPosition = new Map();
  for (const part of text.split(',')) {
    const place = /^(\d{1,9}):(\d{1,16})$/.exec(part);
    const [partition, offset] = [Number(place?.[1]), Number(place?.[2])];
    if (!Number.isSafeInteger(offset) || topic.partitions[partition] === undefined) {
      throw new AdminError('invalid_request', `Last-Event-ID: "${part.slice(0, 40)}" is no place in it`, {
        field: 'Last-Event-ID',
        hint: 'partition:offset, with commas',
      });
    }
    position.set(partition, offset);
  }
  return position;
}
