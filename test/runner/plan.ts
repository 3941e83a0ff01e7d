/** Which tests run: those that need nothing but Node, or those that start brokers in numbers, etcd or a browser, or take long. */
export type Kind = 'quick' | 'system'

/** Files whose tests run one after the other in one process. */
export interface Unit {
  readonly room: string
  readonly name: string
  readonly files: readonly string[]
}

const systemEnding = '.system.test.js'
const ending = '.test.js'

/** Quick files that need a process of their own, by their names, with the reason. */
const alone: ReadonlyMap<string, string> = new Map([
  ['console/page', 'it gives the process the globals of a browser'],
  ['patterns', 'it notes what regular expressions modules make while they are loaded for the first time'],
])

/** The kind of a compiled file; nothing when it has no tests. */
export function kindOf(path: string): Kind | undefined {
  if (path.endsWith(systemEnding)) return 'system'
  return path.endsWith(ending) ? 'quick' : undefined
}

/** The room of a compiled file: its folder under `test`; those at the top are one room. */
export function roomOf(path: string): string {
  const [, , ...rest] = path.split('/')
  return rest.length > 1 ? (rest[0] ?? '') : 'test'
}

/**
 * What the longest units take on a machine with two processors, in milliseconds: in a fresh clone, where nothing has run yet, they begin
 * first as well.
 */
const usual_ms: ReadonlyMap<string, number> = new Map([
  ['test', 86_000],
  ['delivery', 52_000],
  ['lmdb', 50_000],
  ['http', 49_000],
  ['ngsi2', 46_000],
  ['console', 43_000],
  ['coordinator', 33_000],
  ['wire', 32_000],
  ['node-link', 29_000],
  ['command-line', 18_000],
  ['cluster/failures.system', 160_000],
  ['torture.system', 90_000],
  ['bench/cluster.system', 60_000],
  ['cluster/nodes-streams.system', 60_000],
  ['cluster/rolling-restart.system', 60_000],
  ['faults/stand-still.system', 60_000],
  ['growth/others.system', 60_000],
  ['growth/entities.system', 50_000],
  ['replica/taken-back.system', 40_000],
  ['cluster/becoming-several.system', 50_000],
  ['cluster/shown-cluster.system', 50_000],
  ['cluster/undecided-changes.system', 45_000],
  ['runtime/life.system', 45_000],
  ['model.system', 45_000],
  ['permits.system', 35_000],
  ['bench/start.system', 35_000],
  ['transfer/export-import.system', 30_000],
  ['memory.system', 25_000],
  ['openapi/recorded.system', 25_000],
  ['federation.system', 25_000],
  ['runtime/refused-starts.system', 25_000],
])

/**
 * The units of some files: the quick ones of a room share a process, since most of what a file takes is the start of a process; those of
 * the system have one each. A unit that took longer the last time begins earlier, so that none begins when all others have ended.
 */
export function unitsOf(files: readonly string[], lastDurations: ReadonlyMap<string, number>): readonly Unit[] {
  const units = new Map<string, Unit & { readonly files: string[] }>()
  for (const file of files) {
    const room = roomOf(file)
    const own = file.split('/').slice(2).join('/').slice(0, -ending.length)
    const name = kindOf(file) === 'quick' && !alone.has(own) ? room : own
    const unit = units.get(name) ?? { room, name, files: [] }
    unit.files.push(file)
    units.set(name, unit)
  }
  const weight = ({ name, files: of }: Unit) =>
    lastDurations.get(name) ?? usual_ms.get(name) ?? of.length * unknownWeight_ms
  return [...units.values()].sort((one, other) => weight(other) - weight(one))
}

/** What a file is taken to need before it has run here. */
const unknownWeight_ms = 600
