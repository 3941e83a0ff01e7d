import { pathToFileURL } from 'node:url'
import { faultText } from '../faults.js'
import { type CommandLine, readOptions, type Setting, switchesOf } from '../flags/command-line.js'
import { type DataCommand, readCommand } from '../flags/command-words.js'
import type { EnvironmentVariables } from '../flags/words.js'
import { openLog } from '../observe/log/main-log.js'
import { importModule } from './commands/import-module.js'
import { exitCodes } from './exit-codes.js'

/** Carries out a command line and an environment [management 9]. */
export async function start(words: readonly string[], environment: EnvironmentVariables): Promise<void> {
  const command = readCommand(words)
  if (command.kind === 'flags') await serve(readOptions([...command.words], environment))
  else if (command.kind === 'program') handOver(command.script, command.words)
  else if (command.kind === 'data') await runCommand(command.command, command.words, environment)
  else if (command.kind === 'print') process.stdout.write(command.text, () => process.exit(exitCodes.ended))
  else process.stderr.write(command.text, () => process.exit(exitCodes.commandLine))
}

async function runCommand(
  name: DataCommand,
  words: readonly string[],
  environment: EnvironmentVariables,
): Promise<void> {
  const { stdout: output, stderr: errors } = process
  // The reader of the output may have closed it.
  output.on('error', () => {})
  // A failed write is reported, and the file that was begun is removed.
  process.on('SIGXFSZ', () => {})
  try {
    // Loaded on demand: a serving broker needs none of them.
    const { dataCommands } = await import('./commands/data-commands.js')
    const code = await dataCommands[name]({ words, environment, output, errors })
    process.exitCode = code
    // What a failed export has written is of no use, and its reader may take nothing more: the process does not wait for it.
    if (name === 'export' && code !== exitCodes.ended) process.exit()
  } catch (fault) {
    errors.write(`rigel ${name}: ${fault instanceof Error ? fault.stack : fault}\n`)
    process.exitCode = exitCodes.internal
  }
}

/** Replaces this process by another program with these words as its arguments. */
function handOver(script: string, words: readonly string[]): void {
  process.argv.splice(1, process.argv.length, script, ...words)
  importModule(pathToFileURL(script)).catch((fault: unknown) => {
    const reason = faultText(fault)
    process.stderr.write(`${script} cannot be run: ${reason}\n`, () => process.exit(exitCodes.internal))
  })
}

async function serve(commandLine: CommandLine): Promise<void> {
  if (commandLine.kind === 'run') return run(commandLine)
  const stream = commandLine.kind === 'print' ? process.stdout : process.stderr
  stream.write(commandLine.text, () => process.exit(commandLine.exitCode))
}

/** Whether a person reads the log: it goes to a terminal, and no form of lines was asked for. */
function isForPerson(settings: readonly Setting[]): boolean {
  const form = settings.filter(({ flag }) => flag === '-logFormat' || flag === '-logForHumans')
  return process.stdout.isTTY === true && form.every(({ source }) => source === 'default')
}

async function run({ options, settings }: Extract<CommandLine, { kind: 'run' }>): Promise<void> {
  // Loaded here: commands on data need nothing of the serving program.
  const { Life } = await import('./life.js')
  const switches = switchesOf(options)
  const forPerson = isForPerson(settings)
  const log = openLog({ ...options, logForHumans: options.logForHumans || forPerson }, switches)
  if (!log.ok) {
    process.stderr.write(`${log.error.text}\n`, () => process.exit(exitCodes.commandLine))
    return
  }
  for (const { flag, value, source } of settings) log.value.trace('config', `${flag} ${value} (${source})`)
  const life = new Life({ options, settings }, log.value, switches, forPerson ? process.stdout : undefined)
  process.on('SIGTERM', () => life.signalled('SIGTERM'))
  process.on('SIGINT', () => life.signalled('SIGINT'))
  process.on('SIGHUP', () => life.reload())
  process.on('SIGPIPE', () => {})
  // Node ignores the signal unless a library handles it and ends the process. A failed write is answered with 503.
  process.on('SIGXFSZ', () => {})
  process.on('uncaughtException', (fault) => life.broken('an error was not caught', fault))
  process.on('unhandledRejection', (fault) => life.broken('a failed promise was not handled', fault))
  life.start()
}
