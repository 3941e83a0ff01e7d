import type { OutboxReading } from '../measure/delivery-table.js'
import type { Measures } from '../measure/measures.js'
import { now } from '../time.js'
import type { MetricRegistry, Sample } from './metric-registry.js'

/** Notifications: what was sent, what waits and for how long [management 7]. */
export function addDeliveryMetrics(metrics: MetricRegistry, { delivery }: Measures): void {
  const results = (counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([result, value]) => ({ labels: { result }, value }))
  const outboxes = (value: (outbox: OutboxReading) => number) => (): readonly Sample[] =>
    delivery.outboxes().map((outbox, number, { length }) => {
      // The last one is the coordinator's: of notifications that no single entity causes.
      const partition = number === length - 1 ? 'control' : String(number)
      return { labels: { partition }, value: value(outbox) }
    })
  metrics.counter(
    'rigel_notifications_total',
    'Notifications that left the queue: accepted by their receiver, dropped by a limit, or simulated (-simulatedNotification)',
    ['result'],
    () => results(delivery.totals.notifications),
  )
  metrics.counter(
    'rigel_notification_attempts_total',
    'Attempts to notify: accepted; trouble, which is tried again; refused by the receiver',
    ['result'],
    () => results(delivery.totals.attempts),
  )
  metrics.histogram('rigel_notification_attempt_duration_seconds', 'Time that attempts to notify took', () => [
    [{}, delivery.totals.attemptDurations],
  ])
  metrics.histogram(
    'rigel_notification_queue_wait_seconds',
    'Time from the making of a notification to its acceptance',
    () => [[{}, delivery.totals.queueWaits]],
  )
  metrics.gauge(
    'rigel_notification_queue_depth',
    'Notifications in an outbox that wait or are under way; control has those that no single entity causes',
    ['partition'],
    outboxes(({ depth }) => depth),
  )
  metrics.gauge(
    'rigel_notification_queue_bytes',
    'Size of the notifications in an outbox that wait or are under way',
    ['partition'],
    outboxes(({ bytes }) => bytes),
  )
  metrics.gauge(
    'rigel_notification_streams',
    'Clients that listen to subscriptions by event streams (-sseListeners)',
    [],
    () => delivery.streams,
  )
  metrics.gauge('rigel_notification_oldest_age_seconds', 'Age of the oldest notification that waits', [], () =>
    delivery.oldest === undefined ? 0 : Math.max(0, now() - delivery.oldest) / 1000,
  )
}
