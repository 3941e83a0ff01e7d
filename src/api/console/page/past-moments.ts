import type { LiveBuckets, LiveHello, LiveSample } from '../live-frame.js'
import { bucketCounts, type Moment, spreadOfCounts } from './moment.js'

/** What charts show of a moment. */
export type ChartedMoment = Pick<
  Moment,
  'updates' | 'reads' | 'errors' | 'update' | 'read' | 'notified' | 'lag_s' | 'waitBuckets' | 'busy'
>

/** A moment from before the console was opened, as the broker has kept it. */
export function pastMoment({ durationBounds_s: bounds }: LiveHello, sample: LiveSample): ChartedMoment {
  const { over_s, waits } = sample
  const counts = (sent: LiveBuckets) => bucketCounts(sent, bounds.length)
  // The waits of a moment are those of one second.
  const each = (sent: LiveBuckets) => counts(sent).map((count) => count / over_s)
  const update = spreadOfCounts(bounds, counts(sample.updates), undefined)
  const read = spreadOfCounts(bounds, counts(sample.reads), undefined)
  return {
    updates: update.count / over_s,
    reads: read.count / over_s,
    errors: sample.errors / over_s,
    update,
    read,
    notified: sample.notified / over_s,
    lag_s: sample.lag_s,
    waitBuckets:
      waits === null
        ? undefined
        : {
            request: each(waits.request),
            mailbox: each(waits.mailbox),
            transaction: each(waits.transaction),
            dbConnectionPool: each(waits.dbConnectionPool),
          },
    busy: [],
  }
}
