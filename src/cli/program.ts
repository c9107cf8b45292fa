// The command line: which command, which options, what help says. A command's own code is imported when it runs.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { addBenchCommands } from './bench.ts';
import type { CheckOptions } from './check.ts';
import { addCompletionCommand } from './completion.ts';
import type { ConfigOptions } from './config-option.ts';
import { addConsumeCommand } from './consume.ts';
import { addGroupCommands } from './groups.ts';
import { addHealthCommand } from './health.ts';
import { addLogCommands } from './log-commands.ts';
import { addMqttClientCommands } from './mqtt-client.ts';
import { addMqttCommands } from './mqtt-commands.ts';
import type { CommandLine } from './noun.ts';
import { packageVersion } from './package-files.ts';
import { addProduceCommand } from './produce.ts';
import { addReloadCommand } from './reload.ts';
import { EXIT, type Surroundings } from './surroundings.ts';
import { addOffsetsCommand, addTopicCommands } from './topics.ts';
import { addTransactionCommands } from './transactions.ts';

const EXAMPLES = `
Examples:
  polylog start                                          run with the default configuration
  polylog start --config gateway.toml                    run with your own
  polylog start --set listener.kafka.bind=127.0.0.1:9192 --set server.data_dir=/tmp/hub
  polylog check --config gateway.toml                    find what is wrong, with file and line
  polylog check --print                                  show what is in effect, and why
  polylog log dump data orders:0 --from 1000 | head      look into the files of a log
  polylog transactions list                              what is open in a running hub

Without --config: polylog.toml in the working directory, else the default that comes with the package.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a running hub cannot be reached.
`;

const START_EXAMPLES = `
Examples:
  polylog start
  polylog start --config gateway.toml
  polylog start --set listener.kafka.bind=127.0.0.1:9192 --set server.data_dir=/tmp/hub
  POLYLOG__LOG__LEVEL=debug polylog start                the environment, as any key: see config/README.md

SIGTERM and Ctrl-C stop it in less than 5 s; a second one ends it at once, and loses nothing that was acknowledged either.
SIGHUP lets it read its configuration again. Exit codes: 0 stopped, 1 could not start or failed, 2 wrong usage.
`;

const CHECK_EXAMPLES = `
Examples:
  polylog check
  polylog check --config gateway.toml --set listener.kafka.bind=0.0.0.0:9092
  polylog check --output json | jq 'select(.severity == "error")'
  polylog check --print                                  what is in effect, and where each value comes from
  polylog check --schema > polylog.schema.json           for editors: #:schema ./polylog.schema.json

What is wrong with the file is an error: exit code 1. What this machine has against it at this moment (a port that is
taken, a full disk, a name that nobody knows) is a warning.
`;

/** Runs one command; gives the exit code. */
export async function runCommandLine(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode: number = EXIT.done;
  const program = buildProgram(surroundings, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end by the same way, without being wrong.
    return error.exitCode === 0 ? EXIT.done : EXIT.wrongUsage;
  }
}

function buildProgram(surroundings: Surroundings, finish: (exitCode: number) => void): Command {
  const program = new Command('polylog')
    .description('One log, many protocols: Kafka and MQTT clients meet on the same topics.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .helpCommand('help [command]', 'print help on a command')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => surroundings.out(text),
      writeErr: (text) => surroundings.err(text),
    })
    .showHelpAfterError('(polylog --help shows what there is)');

  addConfigOptions(program.command('start'))
    .description('run the hub until SIGTERM or SIGINT')
    .addHelpText('after', START_EXAMPLES)
    .action(async (options: ConfigOptions) => {
      const { start } = await import('./start.ts');
      finish(await start(options, surroundings));
    });

  addConfigOptions(program.command('check'))
    .description('validate a configuration: file:line: key: message (hint)')
    .option('--print', 'show the effective configuration, each value with its source')
    .addOption(new Option('--schema', 'print the JSON Schema of the file, for editors').conflicts('print'))
    .addOption(
      new Option('--output <form>', 'for people or for programs').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', CHECK_EXAMPLES)
    .action(async (options: CheckOptions) => {
      const { check } = await import('./check.ts');
      finish(await check(options, surroundings));
    });

  const line: CommandLine = { program, surroundings, finish };
  addHealthCommand(line);
  addReloadCommand(line);
  addTopicCommands(line);
  addOffsetsCommand(line);
  addGroupCommands(line);
  addConsumeCommand(line);
  addProduceCommand(line);
  addMqttCommands(line);
  addMqttClientCommands(line);
  addLogCommands(program, surroundings, finish);
  addTransactionCommands(line);
  addBenchCommands(line);
  addCompletionCommand(line);
  return program;
}

function addConfigOptions(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file (TOML)')
    .addOption(
      new Option('--set <key=value>', 'override one key, as section.key=value; may be repeated').argParser(
        addSetting,
      ),
    )
    .showHelpAfterError(`(polylog ${command.name()} --help shows what there is)`)
    .exitOverride();
}

function addSetting(setting: string, before: readonly string[] | undefined): readonly string[] {
  if (!/^[^=]+=/.test(setting)) throw new InvalidArgumentError('It must be section.key=value.');
  return [...(before ?? []), setting];
}
