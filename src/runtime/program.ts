import { type CommandLine, readOptions, switchesOf } from '../command-line/command-line.js'
import { openLog } from '../log/main-log.js'
import { exitCodes, Life } from './life.js'

/** Does what a command line and an environment ask for [management 9]. */
export function start(words: readonly string[], environment: Readonly<Record<string, string | undefined>>): void {
  const asked = readOptions([...words], environment)
  if (asked.kind === 'run') run(asked)
  else {
    const stream = asked.kind === 'print' ? process.stdout : process.stderr
    stream.write(asked.text, () => process.exit(asked.exitCode))
  }
}

function run({ options, settings }: Extract<CommandLine, { kind: 'run' }>): void {
  const switches = switchesOf(options)
  const log = openLog(options, switches)
  if (!log.ok) {
    process.stderr.write(`${log.error.text}\n`, () => process.exit(exitCodes.commandLine))
    return
  }
  for (const { flag, value, source } of settings) log.value.trace('config', `${flag} ${value} (${source})`)
  const life = new Life(options, log.value, switches)
  process.on('SIGTERM', () => life.signalled('SIGTERM'))
  process.on('SIGINT', () => life.signalled('SIGINT'))
  process.on('SIGHUP', () => log.value.reopen())
  process.on('SIGPIPE', () => {})
  // Node ignores it, unless a library listens to it and takes it for the end: what the write says is answered with 503.
  process.on('SIGXFSZ', () => {})
  process.on('uncaughtException', (fault) => life.broken('an error was not caught', fault))
  process.on('unhandledRejection', (fault) => life.broken('a failed promise was not handled', fault))
  life.start()
}
