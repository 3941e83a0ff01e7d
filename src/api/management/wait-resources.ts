import type { Resource } from '../../broker/operations/api.js'
import { json } from '../../broker/operations/response.js'
import { durationBuckets } from '../../observe/measure/buckets.js'
import type { Measures } from '../../observe/measure/measures.js'
import { type WaitReading, waitKinds } from '../../observe/measure/waits.js'
import { secondsText } from '../../time.js'
import { type ManagementParts, operation } from './parts.js'

/** Waiting times by partition, and the state of the semaphores [management 5.5, 6.3]. */
export function waitResources({ measures, freeHandles, cluster }: ManagementParts): readonly Resource[] {
  return [
    {
      pattern: '/admin/waits',
      anyCase: false,
      counter: 'statisticsRequests',
      operations: {
        GET: operation('read', ({ parameters }) =>
          json(waitsShown(measures, cluster !== undefined, parameters.get('details') === 'on')),
        ),
      },
    },
    {
      pattern: '/admin/sem',
      anyCase: false,
      counter: 'semStateRequests',
      operations: { GET: operation('read', () => json(semaphores(measures, freeHandles))) },
    },
  ]
}

/** With details two answers can be subtracted: what was waited between them has its distribution and its length, too. */
function waitsShown(measures: Measures, ofCluster: boolean, withDetails: boolean) {
  if (!measures.isOn('semWait')) return { enabled: false }
  const { waits, startedAt } = measures
  // Another thread may reset them meanwhile.
  const from = waits.since
  const interval = process.hrtime.bigint() - from.at
  const numbers = partitionNumbers(measures)
  const kinds = waitKinds.filter((kind) => ofCluster || kind !== 'append')
  const entries = kinds.map((kind) => {
    const shown = (partition?: number) => ({
      ...readingShown(waits.reading(kind, partition, from)),
      ...(withDetails && { buckets: waits.distribution(kind, partition, from) }),
    })
    const all = shown()
    if (kind === 'request') return [kind, all] as const
    const partitions = numbers.map((partition) => ({ partition, ...shown(partition) }))
    return [kind, { ...all, partitions }] as const
  })
  return {
    enabled: true,
    measuring_interval_in_secs: Number(interval / 1_000_000_000n),
    ...(withDetails && {
      since_ms: Math.round(performance.timeOrigin) + Number((from.at - startedAt) / 1_000_000n),
      interval: secondsText(interval),
      bounds: durationBuckets.bounds,
    }),
    waits: Object.fromEntries(entries),
  }
}

function readingShown({ count, waited, total, max, p50, p90, p99, p999 }: WaitReading) {
  return {
    count: Number(count),
    waited: Number(waited),
    total: secondsText(total),
    max: secondsText(max),
    p50: secondsText(p50),
    p90: secondsText(p90),
    p99: secondsText(p99),
    p999: secondsText(p999),
  }
}

/** A semaphore of Orion that the broker does not have is always free. */
function semaphores(measures: Measures, freeHandles: ManagementParts['freeHandles']) {
  const state = (taken: boolean) => ({ status: taken ? 'taken' : 'free' })
  const partitions = partitionNumbers(measures)
  const permitsGone = measures.frontEnds.value('permits.free') === 0 && measures.frontEnds.value('permits.taken') > 0
  const handlesGone = partitions.some((partition) => freeHandles(partition) === 0)
  const writing = partitions.some((partition) => measures.partitions.value('isWriting', partition) === 1)
  return {
    dbConnectionPool: state(handlesGone),
    dbConnection: state(handlesGone),
    request: state(permitsGone),
    subCache: state(false),
    transaction: state(writing),
    timeStat: state(false),
    logMsg: state(false),
    alarmMgr: state(false),
    metricsMgr: state(false),
    connectionContext: state(false),
    connectionEndpoints: state(false),
    mqttMgr: state(measures.delivery.courier.value('opening') > 0),
    kafkaMgr: state(false),
  }
}

function partitionNumbers({ threads }: Measures): readonly number[] {
  return Array.from({ length: threads.partitions }, (_, partition) => partition)
}
