import type { Arrival, EntityHistory, History, Interval, Read, Walk, Write } from './history.js'

/** What an entity must have: every update writes its value to this many attributes. */
export const attributesOfEntity = 2

/** A sentence for everything in the history that must not be; none when all promises were kept. */
export function violationsOf(history: History): readonly string[] {
  const found: string[] = []
  for (const [name, entity] of history.entities) {
    for (const sentence of violationsOfEntity(entity)) found.push(`${name}: ${sentence}`)
  }
  return [...history.faults, ...found, ...violationsOfWalks(history)]
}

function violationsOfEntity(entity: EntityHistory): readonly string[] {
  const writes = new Map(entity.writes.map((write) => [write.value, write]))
  const arrivals = bySubscription(entity.arrivals)
  const sequences = entity.subscriptions.map((id) => sequenceOf(arrivals.get(id) ?? []))
  const orders = entity.writers === 'one' ? [ascending(entity.writes)] : sequences.map(({ values }) => values)
  return [
    ...entity.reads.flatMap((read) => sightFaults(read.values, writes, 'a read', read.end_ms)),
    ...entity.arrivals.flatMap(({ values }) => sightFaults(values, writes, 'a notification', Number.POSITIVE_INFINITY)),
    ...orders.flatMap((order) => orderFaults(order, entity)),
    ...(entity.writers === 'several' ? registerFaults(entity) : []),
    ...sequences.flatMap((sequence) => arrivalFaults(sequence, entity)),
  ]
}

/** The value that is shown; 0 when there is no entity. */
function shownValue(values: readonly number[]): number {
  return values[0] ?? 0
}

/** Faults of one sight of an entity: half of an update, a value that nobody had sent, one that was refused. */
function sightFaults(
  values: readonly number[],
  writes: ReadonlyMap<number, Write>,
  who: string,
  end_ms: number,
): readonly string[] {
  if (values.length === 0) return []
  const value = shownValue(values)
  if (values.length !== attributesOfEntity || values.some((each) => each !== value)) {
    return [`${who} showed a part of an update: ${values.join(', ')}`]
  }
  const write = writes.get(value)
  if (!write || write.start_ms > end_ms) return [`${who} showed ${value}, which nobody had sent`]
  return write.result === 'refused' ? [`${who} showed ${value}, which had been refused`] : []
}

function ascending(writes: readonly Write[]): readonly number[] {
  return writes.map(({ value }) => value).toSorted((a, b) => a - b)
}

/**
 * Faults against one order of the writes: an acknowledged value that a later read did not see any more, nor a newer
 * one; a read that showed less than one that had ended before it began; a write that comes before one that had ended
 * before it began.
 */
function orderFaults(order: readonly number[], { writes, reads }: EntityHistory): readonly string[] {
  const places = new Map(order.map((value, at) => [value, at + 1]))
  const placeOf = (value: number): number => places.get(value) ?? 0
  const acknowledged = writes.filter(({ result, value }) => result === 'acknowledged' && places.has(value))
  const seen = reads.filter(({ values }) => values.length === 0 || places.has(shownValue(values)))
  const readPlace = ({ values }: Read): number => placeOf(shownValue(values))
  const writePlace = ({ value }: Write): number => placeOf(value)
  return [
    ...behind(seen, readPlace, acknowledged, writePlace, (read, write) => {
      return `${write.value} was acknowledged, and a later read showed ${shownValue(read.values)}`
    }),
    ...behind(seen, readPlace, seen, readPlace, (later, earlier) => {
      return `reads went back from ${shownValue(earlier.values)} to ${shownValue(later.values)}`
    }),
    ...behind(acknowledged, writePlace, acknowledged, writePlace, (later, earlier) => {
      return `${later.value} was sent after ${earlier.value} was acknowledged, but took effect before it`
    }),
  ]
}

/** Whoever began after another had ended, and is at a lower place than that. */
function behind<Later extends Interval, Earlier extends Interval>(
  laters: readonly Later[],
  laterPlace: (later: Later) => number,
  earliers: readonly Earlier[],
  earlierPlace: (earlier: Earlier) => number,
  describe: (later: Later, earlier: Earlier) => string,
): readonly string[] {
  const found: string[] = []
  const byEnd = earliers.toSorted((a, b) => a.end_ms - b.end_ms)
  let next = 0
  let highest: Earlier | undefined
  for (const later of laters.toSorted((a, b) => a.start_ms - b.start_ms)) {
    for (let ended = byEnd[next]; ended && ended.end_ms < later.start_ms; ended = byEnd[next]) {
      if (!highest || earlierPlace(ended) > earlierPlace(highest)) highest = ended
      next += 1
    }
    if (highest && laterPlace(later) < earlierPlace(highest)) found.push(describe(later, highest))
  }
  return found
}

/** The time in which a value must have been the current one, as far as its write and its reads tell. */
interface Zone {
  readonly value: number
  readonly earliestEnd_ms: number
  readonly latestStart_ms: number
}

/**
 * Whether the operations on a register whose values are all different have an order that agrees with time, after
 * Gibbons and Korach, Testing Shared Memories (1997): each value has a zone. No two zones of values that were certainly current
 * for a while may overlap, and no value may come and go while another was certainly current.
 */
function registerFaults({ writes, reads }: EntityHistory): readonly string[] {
  const zones = zonesOf(writes, reads)
  const lasting = zones
    .filter(({ earliestEnd_ms, latestStart_ms }) => earliestEnd_ms < latestStart_ms)
    .toSorted((a, b) => a.earliestEnd_ms - b.earliestEnd_ms)
  const found: string[] = []
  for (const [at, zone] of lasting.entries()) {
    const after = lasting[at + 1]
    if (after && after.earliestEnd_ms < zone.latestStart_ms) {
      found.push(`${zone.value} and ${after.value} were both current at the same time`)
    }
  }
  for (const { value, earliestEnd_ms, latestStart_ms } of zones) {
    if (earliestEnd_ms < latestStart_ms) continue
    const around = lasting.findLast((zone) => zone.earliestEnd_ms < latestStart_ms)
    if (around && earliestEnd_ms < around.latestStart_ms) {
      found.push(`${value} was written while ${around.value} was current before and after`)
    }
  }
  return found
}

function zonesOf(writes: readonly Write[], reads: readonly Read[]): readonly Zone[] {
  const never = Number.NEGATIVE_INFINITY
  const zones = new Map<number, { earliestEnd_ms: number; latestStart_ms: number }>()
  zones.set(0, { earliestEnd_ms: never, latestStart_ms: never })
  const seen = new Set(reads.map(({ values }) => shownValue(values)))
  for (const { value, result, start_ms, end_ms } of writes) {
    // One that nobody has seen may never have taken effect.
    if (result === 'refused' || (result === 'unknown' && !seen.has(value))) continue
    const earliestEnd_ms = result === 'unknown' ? Number.POSITIVE_INFINITY : end_ms
    zones.set(value, { earliestEnd_ms, latestStart_ms: start_ms })
  }
  for (const { values, start_ms, end_ms } of reads) {
    const zone = zones.get(shownValue(values))
    if (!zone) continue
    zone.earliestEnd_ms = Math.min(zone.earliestEnd_ms, end_ms)
    zone.latestStart_ms = Math.max(zone.latestStart_ms, start_ms)
  }
  return Array.from(zones, ([value, zone]) => ({ value, ...zone }))
}

/** What one subscription was told of an entity, each notification once, in the order of first arrival. */
interface Sequence {
  readonly values: readonly number[]
  readonly faults: readonly string[]
}

function sequenceOf(arrivals: readonly Arrival[]): Sequence {
  const byId = new Map<string, number>()
  const idOf = new Map<number, string>()
  const faults: string[] = []
  for (const { id, values } of arrivals) {
    const value = shownValue(values)
    const before = byId.get(id)
    if (before !== undefined && before !== value)
      faults.push(`notification ${id} came with ${before} and with ${value}`)
    if (before !== undefined) continue
    byId.set(id, value)
    if (idOf.has(value)) faults.push(`${value} came in two notifications, ${idOf.get(value)} and ${id}`)
    else idOf.set(value, id)
  }
  return { values: [...idOf.keys()], faults }
}

/** Whether a subscription was told of everything that took effect, in an order that agrees with time. */
function arrivalFaults({ values, faults }: Sequence, { writers, writes, reads }: EntityHistory): readonly string[] {
  const came = new Set(values)
  const seen = new Set(reads.map((read) => shownValue(read.values)))
  const found = [...faults]
  for (const { value, result } of writes) {
    if (came.has(value)) continue
    if (result === 'acknowledged') found.push(`${value} was acknowledged but never notified`)
    else if (seen.has(value)) found.push(`${value} was read but never notified`)
  }
  if (writers === 'several') return found
  for (const [at, value] of values.entries()) {
    const before = values[at - 1] ?? 0
    if (value < before) found.push(`${value} was notified after ${before}`)
  }
  return found
}

function bySubscription(arrivals: readonly Arrival[]): ReadonlyMap<string, readonly Arrival[]> {
  const lists = new Map<string, Arrival[]>()
  for (const arrival of arrivals) {
    const list = lists.get(arrival.subscription)
    if (list) list.push(arrival)
    else lists.set(arrival.subscription, [arrival])
  }
  return lists
}

/** Pages that were read one after the other show every entity that was there at the start once, always in one order. */
function violationsOfWalks({ walks, walked, entities }: History): readonly string[] {
  const found: string[] = []
  const order = walks.at(-1)?.entities ?? []
  for (const walk of walks) {
    const shown = new Set(walk.entities)
    if (shown.size < walk.entities.length) found.push('pages showed an entity twice')
    for (const name of walked) {
      const entity = entities.get(name)
      if (entity && !shown.has(name) && existedBefore(entity, walk)) found.push(`pages did not show ${name}`)
    }
    const expected = order.filter((name) => shown.has(name))
    if (expected.some((name, at) => name !== walk.entities[at])) found.push('pages showed entities in another order')
  }
  return found
}

function existedBefore({ writes }: EntityHistory, { start_ms }: Walk): boolean {
  return writes.some(({ result, end_ms }) => result === 'acknowledged' && end_ms < start_ms)
}
