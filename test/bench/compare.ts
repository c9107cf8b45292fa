// Two runs beside each other: of each row that both have, how the hub's figure has changed, and how its ratio to each peer
// has. Figures of two hours differ by themselves: what left the spread is marked.
import { hasFigure, type Measured, type Row, type Run, say } from './report.ts';
import { METRICS } from './scenario.ts';
import { shown } from './statistics.ts';

export function printComparison(now: Run, then: Run): void {
  say(`\nagainst a run on ${Object.values(then.machine).join(', ')}; ! = both spreads lie apart`);
  for (const row of now.rows) {
    const earlier = then.rows.find(({ suite, scenario }) => suite === row.suite && scenario === row.scenario);
    if (earlier === undefined) {
      say(`${row.suite}: ${row.scenario}: not in the earlier run`);
      continue;
    }
    say(`${row.suite}: ${row.scenario}`);
    for (const line of comparedLines(row, earlier)) say(`  ${line}`);
  }
}

export function comparedLines(now: Row, then: Row): string[] {
  const { hub, metric } = now;
  const own = `${shown(then.hub.value)} → ${shown(hub.value)} ${METRICS[metric]}, ${shown(hub.value / then.hub.value)} ×`;
  const lines = [marked(own, areApart(hub, then.hub))];
  for (const [name, peer] of Object.entries(now.peers)) {
    const earlier = then.peers[name];
    if (earlier === undefined || !hasFigure(peer, metric) || !hasFigure(earlier, metric)) continue;
    const [ratio, ratioThen] = [hub.value / peer.value, then.hub.value / earlier.value];
    const text = `hub / ${name}: ${shown(ratioThen)} → ${shown(ratio)}, ${shown(ratio / ratioThen)} ×`;
    lines.push(marked(text, areApart(ratioSpread(peer), ratioSpread(earlier))));
  }
  return lines;
}

interface Spread {
  readonly lowest: number;
  readonly highest: number;
}

/** Without one nothing lies apart from it. */
const ratioSpread = ({ ratioLowest, ratioHighest }: Measured): Spread => ({
  lowest: ratioLowest ?? Number.NEGATIVE_INFINITY,
  highest: ratioHighest ?? Number.POSITIVE_INFINITY,
});

const areApart = (one: Spread, other: Spread): boolean =>
  one.lowest > other.highest || one.highest < other.lowest;

const marked = (text: string, isApart: boolean): string => (isApart ? `! ${text}` : `  ${text}`);
