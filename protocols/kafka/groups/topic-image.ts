// The hub's topics as groups of the consumer protocol look at them: by name and by id, with a version that tells
// whether anything has changed.

import type { Hub, TopicView } from '../../port.ts';
import type { TopicImage, TopicInfo } from './consumer/turn.ts';

export class HubTopics implements TopicImage {
  readonly #hub: Hub;
  readonly #stopWatching: () => void;
  #version = 1;

  /** @param onChange called after the version has changed. */
  constructor(hub: Hub, onChange: (topic: TopicView) => void) {
    this.#hub = hub;
    this.#stopWatching = hub.topics.onChange(({ topic }) => {
      this.#version++;
      onChange(topic);
    });
  }

  get version(): number {
    return this.#version;
  }

  byName(name: string): TopicInfo | undefined {
    return infoOf(this.#hub.topics.get(name));
  }

  byId(topicId: string): TopicInfo | undefined {
    return infoOf(this.#hub.topics.getById(topicId));
  }

  close(): void {
    this.#stopWatching();
  }
}

function infoOf(view: TopicView | undefined): TopicInfo | undefined {
  return view && { name: view.name, topicId: view.topicId, partitions: view.partitions.length };
}
