import { WrongCommandLine } from './options.js'

/** A program: its help, what its command line says, or nothing when that asks for help, and its run, true when all is well. */
interface Program<Options> {
  readonly help: string
  /** What it is as a command of `rigel`, if it is one. */
  readonly command?: string
  parse(argv: readonly string[]): Options | undefined
  run(options: Options): Promise<boolean>
}

/**
 * Runs a program from its command line to its exit code: 0 when all is well, 1 when not or when something failed, 2
 * for a wrong command line.
 */
export async function runProgram<Options>({ help, command, parse, run }: Program<Options>): Promise<void> {
  // A signal ends the process by way of its exit listeners, which end the broker and remove its folder.
  process.on('SIGINT', () => process.exit(130))
  process.on('SIGTERM', () => process.exit(143))
  try {
    const options = parse(process.argv.slice(2))
    if (options === undefined) console.log(help)
    else if (!(await run(options))) process.exitCode = 1
  } catch (fault) {
    const wrong = fault instanceof WrongCommandLine
    const hint = command === undefined ? '--help says what there is' : `'rigel help ${command}' says what it takes`
    console.error(wrong ? `${fault.message}\n${hint}` : fault)
    process.exitCode = wrong ? 2 : 1
  }
}
