// How fast a client may publish. One that is faster is read more slowly, and told nothing: it has done nothing wrong.
import type { Clock, Hub, Timer } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { MqttOptions } from './options.ts';
import { TokenBucket } from './token-bucket.ts';

export interface PublishPaceOptions {
  readonly perSecond: number;
  readonly clock: Clock;
  readonly counters: MqttCounters;
  /** The next one may come. */
  onReady(): void;
}

export class PublishPace {
  readonly #options: PublishPaceOptions;
  readonly #bucket: TokenBucket;
  #timer: Timer | undefined;
  /** The publish at hand has been counted: it may be given again. */
  #isCounted = false;

  constructor(options: PublishPaceOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(options.perSecond, options.clock.monotonic());
  }

  /** Whether the publish at hand has to wait. */
  get isTooFast(): boolean {
    if (this.#isCounted) return false;
    if (this.#timer !== undefined) return true;
    const { clock, counters, onReady } = this.#options;
    const delayMs = this.#bucket.take(clock.monotonic());
    this.#isCounted = delayMs === 0;
    if (this.#isCounted) return false;
    counters.publishRateWaits++;
    this.#timer = clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      onReady();
    });
    return true;
  }

  /** The publish at hand is dealt with. */
  next(): void {
    this.#isCounted = false;
  }

  close(): void {
    this.#timer?.cancel();
  }
}

/** @param onReady the next one may come. Undefined where the number is not limited. */
export function publishPace(
  {
    hub,
    options,
    counters,
  }: { readonly hub: Hub; readonly options: MqttOptions; readonly counters: MqttCounters },
  onReady: () => void,
): PublishPace | undefined {
  const perSecond = options.publishRateMax;
  return perSecond > 0 ? new PublishPace({ perSecond, clock: hub.clock, counters, onReady }) : undefined;
}
