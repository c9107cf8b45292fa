// What a PUBLISH has for one client alone: a topic alias (section 3.3.2.3.4), and user properties of the server's own.
import { PROPERTY } from './properties.ts';

export class OwnProperties {
  /** From 0 to `length`; without the length of the whole block. */
  bytes: Buffer = Buffer.alloc(64);
  length = 0;
  /** The client knows the topic by its alias: the name is left out. */
  hidesTopic = false;

  clear(): void {
    this.length = 0;
    this.hidesTopic = false;
  }

  topicAlias(alias: number, isKnown: boolean): void {
    this.hidesTopic = isKnown;
    this.#room(3);
    this.bytes[this.length++] = PROPERTY.TOPIC_ALIAS;
    this.length = this.bytes.writeUInt16BE(alias, this.length);
  }

  userProperty(name: string, value: string): void {
    this.#room(5 + Buffer.byteLength(name) + Buffer.byteLength(value));
    this.bytes[this.length++] = PROPERTY.USER_PROPERTY;
    this.#string(name);
    this.#string(value);
  }

  #string(text: string): void {
    const written = this.bytes.write(text, this.length + 2, 'utf8');
    this.bytes.writeUInt16BE(written, this.length);
    this.length += 2 + written;
  }

  #room(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    this.bytes = Buffer.concat([this.bytes], (this.length + bytes) * 2);
  }
}

/** Of most packets. */
export const NOTHING_OWN = new OwnProperties();
