// `polylog completion bash·zsh·fish`: a script for the shell, made from the commands that there are.
import { Argument, type Command } from 'commander';
import type { CommandLine } from './noun.ts';
import { EXIT } from './surroundings.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const EXAMPLES = `
Examples:
  polylog completion bash > /etc/bash_completion.d/polylog
  polylog completion zsh > "\${fpath[1]}/_polylog"
  polylog completion fish > ~/.config/fish/completions/polylog.fish
`;

export function addCompletionCommand({ program, surroundings, finish }: CommandLine): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(polylog completion --help shows what there is)')
    .exitOverride()
    .action((shell: Shell) => {
      surroundings.out(SCRIPTS[shell](pathsOf(program)));
      finish(EXIT.done);
    });
}

interface CommandPath {
  /** `topics list`; empty = the program. */
  readonly path: string;
  readonly verbs: readonly string[];
  readonly options: readonly CompletedOption[];
  /** It takes a file or a directory. */
  readonly takesFile: boolean;
}

interface CompletedOption {
  /** `--output` */
  readonly long: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** Each command with what may follow it. */
function pathsOf(command: Command, path = ''): CommandPath[] {
  const options = command.options.flatMap(({ long, required, optional, argChoices = [] }) =>
    typeof long === 'string' ? [{ long, takesValue: required || optional, choices: argChoices }] : [],
  );
  const own = {
    path,
    verbs: command.commands.map((each) => each.name()),
    options: [...options, { long: '--help', takesValue: false, choices: [] }],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'dir'),
  };
  return [own, ...command.commands.flatMap((each) => pathsOf(each, `${path} ${each.name()}`.trim()))];
}

const wordsOf = ({ verbs, options }: CommandPath): string =>
  [...verbs, ...options.map(({ long }) => long)].join(' ');

/** What follows an option that takes a value: its choices, of whichever command; none = a file, or anything. */
function valuesByOption(paths: readonly CommandPath[]): [option: string, choices: string][] {
  const values = new Map<string, Set<string>>();
  for (const { long, takesValue, choices } of paths.flatMap(({ options }) => options))
    if (takesValue) values.set(long, new Set([...(values.get(long) ?? []), ...choices]));
  return [...values].map(([option, choices]) => [option, [...choices].join(' ')]);
}

/** The longest path first: it is the prefix that counts. */
function branches(paths: readonly CommandPath[]): string {
  const lines = paths.map((each) => {
    const pattern = each.path === '' ? '""' : `"${each.path}"*`;
    return `    (${pattern}) words="${wordsOf(each)}"; isFile=${each.takesFile ? 1 : ''} ;;`;
  });
  return lines.toReversed().join('\n');
}

function valueBranches(paths: readonly CommandPath[]): string {
  return valuesByOption(paths)
    .map(([option, choices]) => `    (${option}) words="${choices}"; isFile=${choices === '' ? 1 : ''} ;;`)
    .join('\n');
}

const SCRIPTS: Readonly<Record<Shell, (paths: readonly CommandPath[]) => string>> = {
  bash: (paths) => `# Completion of polylog for bash.
_polylog() {
  local current=\${COMP_WORDS[COMP_CWORD]} given="" word words="" isFile=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || given="\${given:+$given }$word"
  done
  case "$given" in
${branches(paths)}
  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${valueBranches(paths)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -z $isFile || $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -F _polylog polylog
`,
  zsh: (paths) => `#compdef polylog
# Completion of polylog for zsh.
_polylog() {
  # Not "path" and "words", which zsh keeps for itself.
  local given="" word offered="" isFile=""
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    [[ $word == -* ]] || given="\${given:+$given }$word"
  done
  case "$given" in
${branches(paths).replaceAll('words=', 'offered=')}
  esac
  case "\${words[CURRENT - 1]}" in
${valueBranches(paths).replaceAll('words=', 'offered=')}
  esac
  [[ -z $isFile || $PREFIX == -* ]] || _files
  compadd -- \${=offered}
}
_polylog "$@"
`,
  fish: (paths) => {
    const lines = paths.flatMap(({ path, verbs, options, takesFile }) => {
      const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
      const none = verbs.length === 0 ? [] : [`not __fish_seen_subcommand_from ${verbs.join(' ')}`];
      const when = `-n '${[...(path === '' ? [] : seen), ...none].join('; and ')}'`;
      return [
        ...(verbs.length === 0 ? [] : [`${when} -a '${verbs.join(' ')}'`]),
        ...(takesFile ? [`${when} -F`] : []),
        ...options.map(({ long, takesValue, choices }) => {
          const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r -F' : '';
          return `${when} -l ${long.slice(2)}${value}`;
        }),
      ];
    });
    const script = ['-f', ...lines].map((line) => `complete -c polylog ${line}`).join('\n');
    return `# Completion of polylog for fish.\n${script}\n`;
  },
};
