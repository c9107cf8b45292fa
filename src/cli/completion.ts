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
  readonly words: readonly string[];
}

/** Each command with the words that may follow it: its verbs and its options. */
function pathsOf(command: Command, path = ''): CommandPath[] {
  const options = command.options.flatMap(({ long }) => long ?? []);
  const verbs = command.commands.map((each) => each.name());
  const own = { path, words: [...verbs, ...options, '--help'] };
  return [own, ...command.commands.flatMap((each) => pathsOf(each, `${path} ${each.name()}`.trim()))];
}

const SCRIPTS: Readonly<Record<Shell, (paths: readonly CommandPath[]) => string>> = {
  bash: (paths) => `# Completion of polylog for bash.
_polylog() {
  local current=\${COMP_WORDS[COMP_CWORD]} given="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || given="\${given:+$given }$word"
  done
  local words
  case "$given" in
${paths
  .map(({ path, words }) => `    ${path === '' ? '""' : `"${path}"*`}) words="${words.join(' ')}" ;;`)
  .toReversed()
  .join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _polylog polylog
`,
  zsh: (paths) => `#compdef polylog
# Completion of polylog for zsh.
_polylog() {
  # Not "path", which zsh keeps for itself.
  local given="" word
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    [[ $word == -* ]] || given="\${given:+$given }$word"
  done
  case "$given" in
${paths
  .map(({ path, words }) => `    (${path === '' ? '' : `"${path}"*`}) compadd -- ${words.join(' ')} ;;`)
  .toReversed()
  .join('\n')}
  esac
}
_polylog "$@"
`,
  fish: (paths) =>
    `# Completion of polylog for fish.\n${paths
      .map(({ path, words }) => {
        const seen =
          path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`;
        return `complete -c polylog -n '${seen}' -a '${words.join(' ')}'\n`;
      })
      .join('')}`,
};
