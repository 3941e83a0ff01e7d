import { WrongCommandLine } from './options.js'

/**
 * Runs a program from its command line to its exit code: 0 when all is well, 1 when not or when something failed, 2
 * for a wrong command line.
 */
export async function runProgram(main: (argv: readonly string[]) => Promise<boolean>): Promise<void> {
  // A signal ends the process by way of its exit listeners, which end the broker and remove its folder.
  process.on('SIGINT', () => process.exit(130))
  process.on('SIGTERM', () => process.exit(143))
  try {
    process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1
  } catch (fault) {
    const wrong = fault instanceof WrongCommandLine
    console.error(wrong ? `${fault.message}\n(--help says what there is)` : fault)
    process.exitCode = wrong ? 2 : 1
  }
}
