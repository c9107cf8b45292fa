// What one client is told with a message and others are not: a topic alias in place of the name, where it takes aliases,
// and how much of the log it has missed.
import type { MessageView } from './message-view.ts';
import { NOTHING_OWN, OwnProperties } from './packets/own-properties.ts';
import type { Version } from './packets/publish.ts';
import { TopicAliases } from './topic-aliases.ts';

/** User property of the next message: so many offsets of the log were skipped, by retention or a limit of the queue. */
const SKIPPED_PROPERTY = 'polylog.skipped';

/** Used for one packet after another. */
const OWN = new OwnProperties();

export class OwnPart {
  /** Offsets that its client has not been told of. */
  skipped = 0;
  readonly #version: Version;
  readonly #aliases: TopicAliases | undefined;

  /** @param topicAliasMaximum of the client; 0 below version 5. */
  constructor(version: Version, topicAliasMaximum: number) {
    this.#version = version;
    this.#aliases = topicAliasMaximum > 0 ? new TopicAliases(topicAliasMaximum) : undefined;
  }

  /** To be used at once; {@link noteSent} when its packet is on its way. */
  propertiesOf(message: MessageView): OwnProperties {
    if (this.#aliases === undefined && (this.skipped === 0 || this.#version < 5)) return NOTHING_OWN;
    OWN.clear();
    if (this.#aliases !== undefined) {
      const known = this.#aliases.known(topicOf(message));
      const alias = known || this.#aliases.next;
      if (alias > 0) OWN.topicAlias(alias, known > 0);
    }
    if (this.skipped > 0) OWN.userProperty(SKIPPED_PROPERTY, String(this.skipped));
    return OWN;
  }

  noteSent(message: MessageView, own: OwnProperties): void {
    this.skipped = 0;
    if (this.#aliases === undefined || own.hidesTopic || this.#aliases.next === 0) return;
    this.#aliases.give(topicOf(message));
  }
}

/** Any string that tells topics apart. */
function topicOf({ topic }: MessageView): string {
  return topic.toString('latin1', 2);
}
