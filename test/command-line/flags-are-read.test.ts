import { test } from 'tap'
import { readOptions } from '../../src/flags/command-line.js'
import { sourceOf, sourcesOf } from '../sources.js'

const readers = sourcesOf('src', 'workers').filter(
  ({ path }) => !/^src\/(command-line\/|options\.ts|shared-memory\/switches\.ts)/.test(path),
)

/** What shows that an option is read of which the command line makes something else before any other part sees it. */
const readAs: Readonly<Record<string, string>> = {
  traceLevels: '.traces[',
  logLevel: "get('logLevel')",
  verbose: "get('verbosity')",
  logLineMaxSize: "get('lineMaxSize')",
  logInfoPayloadMaxSize: "get('infoPayloadMaxSize')",
  logDeprecate: "get('deprecate')",
  stepWarning_ms: "get('stepWarning_ms')",
  disableMetrics: "get('disableMetrics')",
  statSemWait: "'statSemWait'",
  statCounters: "'statCounters'",
  statTiming: "'statTiming'",
  statNotifQueue: "'statNotifQueue'",
  // They are named at the start.
  ignored: 'warningsOf(',
  misspelt: 'warningsOf(',
}

test('each option is read outside of the command line', async (t) => {
  const read = readOptions([], {})
  if (read.kind !== 'run') throw new Error(read.text)
  const members = [...Object.keys(read.options), ...Object.keys(read.options.notifications)]
  t.ok(members.length > 80)
  for (const name of members) {
    const other = readAs[name]
    // As a member, or as what is taken from an object.
    const taken = new RegExp(`\\.${name}\\b|[{,]\\s*${name}\\s*[,}:]`)
    const isRead = ({ code }: { readonly code: string }) =>
      other === undefined ? taken.test(code) : code.includes(other)
    t.ok(readers.some(isRead), name)
  }
})

test('each flag of notifications makes an option; those of the other tables do by their keys', async (t) => {
  const settings = sourceOf('src/flags/settings.ts').code
  const flags = [...sourceOf('src/flags/flags-delivery.ts').code.matchAll(/^ {2}(\w+): \w+\./gm)]
  t.ok(flags.length > 30)
  for (const [, name = ''] of flags) t.match(settings, new RegExp(`flags\\.${name}\\b`), name)
})
