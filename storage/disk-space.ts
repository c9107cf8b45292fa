// Room on the disk, and the reserve that appends leave alone. Asking the file system is a system call, so an append
// asks an estimate: what was free when it was asked last, less what was appended since. It is asked again each second
// while something is appended or refused, and whenever the estimate has come half the way down to the reserve.
//
// Below the reserve appends are refused, and those of internal logs below a quarter of it: consumers that cannot commit
// would not get on with what they may still read. It ends by itself, with some room to spare, so that it does not begin
// and end with every batch.
import type { Clock, Log, Timer } from './environment.ts';
import { StorageError } from './errors.ts';
import type { FileSystem } from './file-system.ts';
import { DISK_CHECK_INTERVAL_MS, ROOM_SPARE_BYTES_MIN } from './limits.ts';

export interface DiskSpaceOptions {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 = there is none, and the file system is not asked. */
  readonly reserveBytes: number;
  /** Appended bytes that may not have been given to the file system yet. */
  unwrittenBytes(): number;
}

export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #reserveBytes: number;
  /** At or below what is free, as far as this process can know; infinite when nobody can. */
  #freeBytes = Number.POSITIVE_INFINITY;
  /** The estimate is asked to prove itself from here on. */
  #checkBelowBytes = Number.NEGATIVE_INFINITY;
  #appendedBytes = 0;
  #isShort = false;
  #isInUse = false;
  #measuring = false;
  #isUnknown = false;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
    this.#reserveBytes = options.reserveBytes;
  }

  /** To be awaited before the first append. */
  async open(): Promise<void> {
    if (this.#reserveBytes > 0) await this.#measure();
  }

  /** Appends are refused. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** So much is free that some may lie idle. Not known where there is no reserve: nobody looks then. */
  get hasPlenty(): boolean {
    if (this.#reserveBytes === 0 || this.#isUnknown) return false;
    return this.#freeBytes - this.#reserveBytes >= ROOM_SPARE_BYTES_MIN;
  }

  /** Asks the file system; undefined when it does not tell. */
  async measure(): Promise<number | undefined> {
    const { fileSystem, directory } = this.#options;
    try {
      return await fileSystem.freeBytes(directory);
    } catch {
      return undefined;
    }
  }

  /** @throws StorageError disk-full */
  refuseAppends(isInternal: boolean): void {
    if (!this.#isShort) return;
    this.#use();
    if (isInternal && this.#freeBytes >= this.#reserveBytes / 4) return;
    throw new StorageError(
      'disk-full',
      `the disk has ${Math.max(0, this.#freeBytes)} bytes left, and ${this.#reserveBytes} are kept in reserve`,
    );
  }

  /** Whether so much may be written that nobody waits for: it leaves the reserve alone. Never rejects. */
  async hasRoomFor(bytes: number): Promise<boolean> {
    if (this.#reserveBytes === 0) return true;
    const freeBytes = await this.measure();
    return freeBytes === undefined || freeBytes - bytes >= this.#reserveBytes;
  }

  /** So many bytes will be written. */
  appended(bytes: number): void {
    if (this.#reserveBytes === 0) return;
    this.#appendedBytes += bytes;
    this.#freeBytes -= bytes;
    this.#use();
    if (this.#freeBytes >= this.#checkBelowBytes) return;
    if (this.#freeBytes < this.#reserveBytes) this.#begin();
    if (!this.#measuring) void this.#measure(); // never rejects
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #use(): void {
    this.#isInUse = true;
    if (this.#timer === undefined && !this.#measuring) this.#startTimer();
  }

  #startTimer(): void {
    this.#timer = this.#options.clock.setTimer(DISK_CHECK_INTERVAL_MS, () => void this.#measure());
  }

  /** Never rejects. */
  async #measure(): Promise<void> {
    this.#measuring = true;
    this.#isInUse = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const unwrittenBytes = this.#options.unwrittenBytes();
    const appendedBytes = this.#appendedBytes;
    const measured = await this.measure();
    this.#measuring = false;
    if (this.#closed) return;
    const isKnown = measured !== undefined;
    if (!isKnown && !this.#isUnknown) {
      const { log, directory } = this.#options;
      log.warn('disk-space-unknown', { directory });
    }
    this.#isUnknown = !isKnown;
    this.#judge(isKnown ? measured - unwrittenBytes - (this.#appendedBytes - appendedBytes) : Infinity);
    if (this.#isShort || this.#isInUse) this.#startTimer();
  }

  #judge(freeBytes: number): void {
    const reserveBytes = this.#reserveBytes;
    this.#freeBytes = freeBytes;
    const halfWay = (freeBytes - reserveBytes) / 2;
    this.#checkBelowBytes = halfWay > reserveBytes / 64 ? reserveBytes + halfWay : reserveBytes;
    if (freeBytes < reserveBytes) this.#begin();
    else if (this.#isShort && freeBytes >= reserveBytes + reserveBytes / 16) {
      this.#isShort = false;
      this.#options.log.info('disk-space-back', { freeBytes, reserveBytes });
    }
  }

  #begin(): void {
    if (this.#isShort) return;
    this.#isShort = true;
    const { log } = this.#options;
    log.error('disk-space-short', { freeBytes: this.#freeBytes, reserveBytes: this.#reserveBytes });
  }
}
