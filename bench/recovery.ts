import { type BrokerProcess, ownBroker } from './broker-process.js'
import { updateAnyDevice } from './device.js'
import { deviceResponse } from './fleet.js'
import type { Harness } from './harness.js'
import { Helper } from './helper.js'
import type { LoadResult, LoadTask } from './load.js'
import { firstFresh } from './request.js'
import { median, rounded } from './rounds.js'
import type { UnappliedReply, UnappliedTask } from './unapplied.js'

const connections = 64

/** Longer than from one checkpoint to the next: the log holds what is written in that time, or less. */
const longest_s = 1.5

/** The load under which it is killed ends with the broker. */
const patience_s = 120

/** Starts on a log that has to be replayed: of given lengths, and as a SIGKILL under full load leaves it. */
export async function measureRecovery(harness: Harness, entities: number): Promise<void> {
  if (harness.options.main !== ownBroker) {
    harness.report.note('Left out, since only the broker that was built with this program has a known log: recovery.')
    return
  }
  for (const log_MiB of harness.options.logs_MiB) {
    await measure(harness, entities, `restart, log of ${log_MiB} MiB`, (path) =>
      unapplied({ path, devices: entities, more_bytes: log_MiB * 2 ** 20 }),
    )
  }
  await measure(harness, entities, 'restart after SIGKILL under load', async (path) => {
    await harness.withPrepared(entities, (broker) => killUnderLoad(harness, broker, entities))
    return unapplied({ path, devices: entities, more_bytes: 0 })
  })
}

async function measure(
  harness: Harness,
  entities: number,
  name: string,
  leaveLog: (path: string) => Promise<UnappliedReply>,
): Promise<void> {
  const { rounds } = harness.options
  const logs_bytes: number[] = []
  const starts_ms: number[] = []
  for (let round = 1; round <= rounds; round++) {
    harness.report.progress(`start, ${entities} entities, ${name}, round ${round}`)
    const { path } = await harness.preparedFolder(entities)
    logs_bytes.push((await leaveLog(path)).unapplied_bytes)
    await harness.withPrepared(entities, async (broker) => {
      starts_ms.push(broker.start_ms)
      await deviceResponse(broker.url, 0)
    })
  }
  harness.report.add({
    bench: 'start',
    case: name,
    entities,
    rounds,
    log_MiB: rounded(median(logs_bytes) / 2 ** 20),
    start_to_answer_ms: Math.round(median(starts_ms)),
  })
}

/** In a process of its own, which ends without closing what it has opened. */
async function unapplied(task: UnappliedTask): Promise<UnappliedReply> {
  const helper = new Helper<UnappliedTask, UnappliedReply>('./unapplied.js')
  try {
    return await helper.ask(task)
  } finally {
    await helper.end()
  }
}

/** The requests that are under way at the end get no answer, as they should. */
async function killUnderLoad(harness: Harness, broker: BrokerProcess, entities: number): Promise<void> {
  const generator = new Helper<LoadTask, LoadResult>('./load-generator.js')
  const load_s = Math.min(longest_s, harness.options.duration_s)
  try {
    const requests = [updateAnyDevice(entities)]
    const load = { url: broker.url, connections, requests, checked: true, firstFresh }
    const warmUp = await generator.ask({ ...load, warmUp_s: 0, duration_s: load_s })
    harness.complain(`start, ${entities} entities, before SIGKILL`, warmUp)
    const loading = generator.ask({
      ...load,
      firstFresh: firstFresh + warmUp.sent,
      warmUp_s: 0,
      duration_s: patience_s,
    })
    await new Promise((resolve) => setTimeout(resolve, load_s * 1000))
    await broker.kill()
    await loading
  } finally {
    await generator.end()
  }
}
