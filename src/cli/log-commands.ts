// `polylog log …`: the offline tools on a data directory. What they take, and what help says of it.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CutOptions } from './log-cut.ts';
import type { DumpOptions } from './log-dump.ts';
import type { RebuildOptions } from './log-rebuild-meta.ts';
import type { VerifyOptions } from './log-verify.ts';
import type { Surroundings } from './surroundings.ts';

const PLACES = `
DIR is a data directory, a topic's or a partition's directory in one (or copied out of one), or a single file.
TOPIC[:PARTITION] chooses from a data directory: 'data orders:3' is the same as 'data/topics/orders/3'.
`;

const EXIT_CODES = 'Exit codes: 0 done, 1 failed, 2 wrong usage.\n';

const DUMP_HELP = `${PLACES}
Examples:
  polylog log dump data orders | head
  polylog log dump data orders:0 --from 1000 --to 2000 --value none
  polylog log dump data/topics/orders/0/00000001-00000000000000000000.log --batches

A line has the file, the frame's position in it, and every field of the frame (storage/FORMAT.md). Bytes that are not
UTF-8 are {"base64": "…"}. Integers are exact, also above 2^53. It reads only, so a hub may be running; the end of what
that hub is writing may then look torn. What cannot be read is told on stderr.
Exit codes: 0 done, 1 something is damaged or could not be read, 2 wrong usage.
`;

const VERIFY_HELP = `${PLACES}
Examples:
  polylog log verify data
  polylog log verify /backup/orders/3
  polylog log verify data --no-index --output json | jq 'select(.severity == "error")'

It checks every checksum, frame, offset, segment and small file, and the index against the log. With a data directory it
takes that directory's lock, so no hub may have it open; --no-index looks at the files alone and works beside one.
A torn end that the next start cuts is a warning, not damage.
Exit codes: 0 nothing is wrong, 1 something is or could not be read, 2 wrong usage.
`;

const CUT_HELP = `${PLACES}
Examples:
  polylog log cut data orders:3 --at 1500 --dry-run
  polylog log cut data/topics/orders/3 --at 1500

The log then ends at OFFSET, or at the start of the batch that OFFSET lies in: batches are kept or cut whole. What is cut
stays beside the log as *.cut. No hub may have the data directory open. The next start appends on from there, so
consumers that were further will meet other records under offsets that they know.
${EXIT_CODES}`;

const REBUILD_HELP = `
Examples:
  polylog log rebuild-meta data --dry-run
  polylog log rebuild-meta data

For a data directory whose meta/ was lost, or is damaged (it is then set aside): a hub does not start on it. Topics are known
again by their files, with all records, offsets of groups, sessions and retained messages. What topics were configured to is
lost: until it is said again nothing is deleted or compacted. No hub may have the data directory open.
${EXIT_CODES}`;

const LOG_HELP = `
Examples:
  polylog log dump data orders | head
  polylog log verify data
  polylog log cut data orders:3 --at 1500 --dry-run
  polylog log rebuild-meta data --dry-run

Exit codes: 0 done, 1 failed or something is wrong, 2 wrong usage.
`;

const BYTES = ['text', 'hex', 'base64', 'none'] as const;

export function addLogCommands(
  program: Command,
  surroundings: Surroundings,
  finish: (exitCode: number) => void,
): void {
  const log = program
    .command('log')
    .description('look at the files of a log, check them, cut them; offline')
    .addHelpText('after', LOG_HELP);

  log
    .command('dump')
    .description('print every frame, one JSON object a line')
    .argument('<dir>', 'where it lies')
    .argument('[topic[:partition]]', 'only that of a data directory')
    .addOption(new Option('--from <offset>', 'first record').argParser(parseNumber))
    .addOption(new Option('--to <offset>', 'the first record that is left out').argParser(parseNumber))
    .addOption(new Option('--limit <count>', 'stop after so many frames').argParser(parseNumber))
    .option('--batches', 'batch frames only')
    .addOption(new Option('--key <form>', 'how keys are shown').choices(BYTES).default('text'))
    .addOption(
      new Option('--value <form>', 'how values, headers and source attributes are shown')
        .choices(BYTES)
        .default('text'),
    )
    .addHelpText('after', DUMP_HELP)
    .action(async (path: string, selection: string | undefined, options: DumpOptions) => {
      const { dump } = await import('./log-dump.ts');
      finish(await dump({ path, selection }, options, surroundings));
    });

  log
    .command('verify')
    .description('check everything, one line for each thing that is wrong')
    .argument('<dir>', 'where it lies')
    .argument('[topic[:partition]]', 'only that of a data directory')
    .option('--no-index', 'leave the index out; then a hub may be running')
    .addOption(
      new Option('--output <form>', 'lines to read, or a JSON object a line')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText('after', VERIFY_HELP)
    .action(async (path: string, selection: string | undefined, options: VerifyOptions) => {
      const { verify } = await import('./log-verify.ts');
      finish(await verify({ path, selection }, options, surroundings));
    });

  log
    .command('cut')
    .description('drop everything from an offset on, as recovery drops a torn end')
    .argument('<dir>', 'where it lies')
    .argument('[topic:partition]', 'that of a data directory')
    .addOption(
      new Option('--at <offset>', 'the first record that goes').argParser(parseNumber).makeOptionMandatory(),
    )
    .option('--dry-run', 'say what would be done')
    .addHelpText('after', CUT_HELP)
    .action(async (path: string, selection: string | undefined, options: CutOptions) => {
      const { cut } = await import('./log-cut.ts');
      finish(await cut({ path, selection }, options, surroundings));
    });

  log
    .command('rebuild-meta')
    .description('make the list of topics anew from their files, when it was lost')
    .argument('<dir>', 'the data directory')
    .option('--dry-run', 'say what would be done')
    .addHelpText('after', REBUILD_HELP)
    .action(async (path: string, options: RebuildOptions) => {
      const { rebuildMeta } = await import('./log-rebuild-meta.ts');
      finish(await rebuildMeta(path, options, surroundings));
    });

  for (const command of log.commands) {
    command.showHelpAfterError(`(polylog log ${command.name()} --help shows what there is)`);
  }
  log.showHelpAfterError('(polylog log --help shows what there is)');
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number.');
  }
  return value;
}
