import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { commandCodes } from '../../data/offline/command.js'
import { failureText } from '../../faults.js'
import { isKeyName, makeApiKey, parseTenants } from '../../flags/api-keys.js'
import { asksForHelp } from '../../flags/asks-for-help.js'

const help = `Usage: rigel key NAME [--tenants LIST] [--read] [--file FILE]

Makes a key for a client. Prints the key, and its line for the file of -apiKeys. The line has only the hash of the key, so the
key is shown now and never again.

  NAME             whom the key is for, as the log names it: letters, digits, dots, dashes, underscores
  --tenants LIST   tenants, separated by commas; - is the default tenant (default: *, all tenants)
  --read           a key that can only read (default: it can write, too)
  --file FILE      append the line to this file, which is made if missing, and print the key alone

The exit code is 0 if it is done, 1 if not, and 2 for a wrong command line.
`

const options = {
  tenants: { type: 'string', default: '*' },
  read: { type: 'boolean', default: false },
  file: { type: 'string' },
} as const

interface Wanted {
  readonly name: string
  readonly tenants: string
  readonly isReader: boolean
  readonly file: string | undefined
}

const wanted = attempted(commandCodes.notTried, read)
if (wanted === 'help') process.stdout.write(help)
else if (wanted !== undefined) attempted(commandCodes.failed, () => write(wanted))

/** Carries out a step; a fault is told and makes the exit code. */
function attempted<Outcome>(code: number, step: () => Outcome): Outcome | undefined {
  try {
    return step()
  } catch (fault) {
    const hint = code === commandCodes.notTried ? "'rigel help key' says what it takes\n" : ''
    process.stderr.write(`rigel key: ${failureText(fault)}\n${hint}`)
    process.exitCode = code
    return undefined
  }
}

/** Reads the command line; throws what is wrong with it. */
function read(): Wanted | 'help' {
  const args = process.argv.slice(2)
  if (asksForHelp(args)) return 'help'
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const [name = '', ...more] = positionals
  if (!isKeyName(name) || more.length > 0)
    throw new Error('one name is needed, of 1 to 64 letters, digits, dots, dashes and underscores')
  const tenants = parseTenants(values.tenants, true)
  if (!tenants.ok) throw new Error(`--tenants: ${tenants.error}`)
  return { name, tenants: values.tenants, isReader: values.read, file: values.file }
}

function write({ name, tenants, isReader, file }: Wanted): void {
  const { key, line } = makeApiKey(name, tenants, !isReader)
  if (file === undefined) process.stdout.write(`key   ${key}\nline  ${line}\n`)
  else {
    appendFileSync(file, `${line}\n`, { mode: 0o644 })
    process.stdout.write(`${key}\n`)
  }
}
