import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isKeyName, makeApiKey, parseTenants } from '../../flags/api-keys.js'

const help = `rigel key NAME [--tenants LIST] [--read] [--file FILE]

Makes a key for the interfaces of clients and prints it, and the line of it for the file of -apiKeys. The line has
only its hash: the key is shown now and never again.

  NAME             who it is for, in the log: letters, digits, dots, dashes, underscores
  --tenants LIST   tenants, separated by commas; - is the default one (default: *, all of them)
  --read           for reading only (default: for writing too)
  --file FILE      append the line to this file, which is made if missing, and print the key alone
`

const options = {
  tenants: { type: 'string', default: '*' },
  read: { type: 'boolean', default: false },
  file: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

try {
  run()
} catch (fault) {
  process.stderr.write(`rigel key: ${fault instanceof Error ? fault.message : String(fault)}\n`)
  process.exitCode = 1
}

function run(): void {
  const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: true })
  if (values.help) process.stdout.write(help)
  else {
    const [name = '', ...more] = positionals
    if (!isKeyName(name) || more.length > 0)
      throw new Error(`one name is needed, of 1 to 64 letters, digits, dots, dashes and underscores\n\n${help}`)
    const tenants = parseTenants(values.tenants, true)
    if (!tenants.ok) throw new Error(`--tenants: ${tenants.error}`)
    const { key, line } = makeApiKey(name, values.tenants, !values.read)
    if (values.file === undefined) process.stdout.write(`key   ${key}\nline  ${line}\n`)
    else {
      appendFileSync(values.file, `${line}\n`, { mode: 0o644 })
      process.stdout.write(`${key}\n`)
    }
  }
}
