import type { BrokerProcess } from './broker-process.js'
import { updateAnyDevice } from './device.js'
import type { Bench, Harness } from './harness.js'
import { residentBeyondFiles_MiB } from './memory.js'
import { measureRecovery } from './recovery.js'
import { median, rounded, times } from './rounds.js'

const connections = 64

/** What it takes to run a broker that holds much. */
export const start: Bench = {
  name: 'start',
  question: 'from a restart to the first answer by entities and by log to replay, and the memory besides mapped data',
  run: async (harness) => {
    if (!harness.hasOwnBrokers('start')) return
    for (const size of harness.options.sizes) {
      await measure(harness, size)
      await measureRecovery(harness, size)
    }
    if (residentBeyondFiles_MiB(process.pid) === undefined) {
      harness.report.note('The memory of a process can be told apart from its mapped files on Linux only.')
    }
  },
}

async function measure(harness: Harness, entities: number): Promise<void> {
  const { rounds } = harness.options
  const starts_ms: number[] = []
  const atStart_MiB: number[] = []
  const loaded_MiB: number[] = []
  for (let round = 1; round <= rounds; round++) {
    harness.report.progress(`start, ${entities} entities, round ${round}`)
    await harness.withPrepared(entities, async (broker) => {
      starts_ms.push(broker.start_ms)
      atStart_MiB.push(...memoryOf(broker))
      if (round < rounds) return
      await updates(harness, broker, entities)
      loaded_MiB.push(...memoryOf(broker))
    })
  }
  harness.report.add({
    bench: 'start',
    case: 'restart',
    entities,
    rounds,
    start_to_answer_ms: Math.round(median(starts_ms)),
    ...(atStart_MiB.length === 0 ? {} : { resident_MiB: rounded(median(atStart_MiB)) }),
    ...(loaded_MiB.length === 0 ? {} : { resident_loaded_MiB: rounded(median(loaded_MiB)) }),
  })
}

/** What the broker keeps in memory comes with its work. */
async function updates(harness: Harness, { url }: BrokerProcess, entities: number): Promise<void> {
  const requests = [updateAnyDevice(entities)]
  const load = { ...times(harness.options.duration_s), url, connections, requests, checked: true }
  await harness.load(`start, ${entities} entities, updates`, load)
}

function memoryOf({ pid }: BrokerProcess): readonly number[] {
  return [residentBeyondFiles_MiB(pid) ?? []].flat()
}
