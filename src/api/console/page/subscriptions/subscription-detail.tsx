import { useEffect, useState } from 'preact/hooks'
import type { WholeSubscription } from '../../shapes.js'
import { linkTo, nameOfDefault, openPage } from '../address.js'
import { bytesText, countText, durationText, spanText } from '../format.js'
import { useObservable } from '../observable.js'
import { Chart } from '../parts/chart.js'
import { ChangeFault, confirmChange, useChange } from '../parts/confirm.js'
import { FoldedJson } from '../parts/json.js'
import { PageHead } from '../parts/page-head.js'
import { Chip, FactList, Heads, OptionalTime, StatusChip, StoredText } from '../parts/small-parts.js'
import { EmptyState, Shown } from '../parts/states.js'
import { readOnly, useResource } from '../session.js'
import { ExplainForm } from './explain-form.js'

/** One subscription: its contents, its queue, its last attempts, why nothing is sent, and its deletion. */
export function SubscriptionDetail({ id }: { readonly id: string }) {
  const path = `/admin/subscriptions/${encodeURIComponent(id)}?details=on`
  const known = useResource<WholeSubscription>(path)
  const onlyReads = useObservable(readOnly)
  const { change, fault } = useChange()
  const { value } = known
  const end = async () => {
    if (value === undefined || !(await confirmChange(endOf(value)))) return
    if (await change(`/admin/subscriptions/${encodeURIComponent(id)}`, 'DELETE')) openPage('subscriptions')
  }
  return (
    <>
      <p>
        <a href={linkTo('subscriptions')}>All subscriptions</a>
      </p>
      <PageHead title={`Subscription ${id}`} curl={[path]}>
        <button type="button" disabled={onlyReads || value === undefined} onClick={end}>
          Delete
        </button>
      </PageHead>
      <ChangeFault fault={fault} />
      <Shown known={known} what="The subscription">
        {(subscription) => <Content subscription={subscription} at_ms={known.at_ms} />}
      </Shown>
    </>
  )
}

function endOf({ id, queueDepth, queueBytes }: WholeSubscription) {
  const waiting =
    queueDepth === 0
      ? 'Nothing waits for it now.'
      : `${countText(queueDepth)} notifications (${bytesText(queueBytes)}) wait for it and are dropped.`
  return {
    title: `Delete subscription ${id}?`,
    cost: `${waiting} Its receiver is told nothing, and only its client can make it again. It is logged.`,
    action: 'Delete',
  }
}

function Content({ subscription, at_ms }: { readonly subscription: WholeSubscription; readonly at_ms: number }) {
  const { id, service, status, description, reference, queue, attempts, subject, notification, target } = subscription
  return (
    <>
      <FactList
        facts={[
          ['status', <StatusChip key="status" status={status} />],
          ['description', description && <StoredText text={description} />],
          ['receiver', <StoredText key="receiver" text={reference} most={300} />],
          ['tenant', service ?? nameOfDefault],
          ['service path', subscription.servicePath],
          ['sent', countText(subscription.timesSent)],
          ['failed in a row', countText(subscription.failsCounter)],
          ['discarded', countText(subscription.discarded)],
          ['last notification', <OptionalTime key="last" date={subscription.lastNotification} />],
          ['last success', <OptionalTime key="success" date={subscription.lastSuccess} />],
          ['expires', subscription.expires && <OptionalTime date={subscription.expires} />],
          ['throttling', subscription.throttling && `at most one in ${spanText(subscription.throttling)}`],
          ['every', subscription.interval && spanText(subscription.interval)],
        ]}
      />
      <section>
        <h2>Queue</h2>
        <FactList
          facts={[
            ['state', queue.state],
            ['waiting', `${countText(subscription.queueDepth)}, ${bytesText(subscription.queueBytes)}`],
            ['under way', countText(queue.underWay)],
            ['oldest', <OptionalTime key="oldest" date={subscription.oldestQueued} />],
            ['next attempt', <OptionalTime key="next" date={subscription.nextAttempt} />],
          ]}
        />
        <QueueChart depth={subscription.queueDepth} at_ms={at_ms} />
      </section>
      <Attempts attempts={attempts} />
      <ExplainForm id={id} />
      <section>
        <h2>As it is stored</h2>
        <FoldedJson value={{ subject, notification, target }} open={3} />
      </section>
    </>
  )
}

/** The last attempts, the newest first, with the start of what the receiver responded. */
function Attempts({ attempts }: Pick<WholeSubscription, 'attempts'>) {
  return (
    <section>
      <h2>Last attempts</h2>
      {attempts.length === 0 ? (
        <EmptyState>No attempt has ended since the broker was started.</EmptyState>
      ) : (
        <table>
          <Heads names={{ when: '', took: 'number', result: '', response: '' }} />
          <tbody>
            {attempts.map(({ at, duration_ms, result, status, reason, response }, number) => (
              <tr key={`${at} ${number}`}>
                <td>
                  <OptionalTime date={at} />
                </td>
                <td class="number">{durationText(duration_ms / 1000)}</td>
                <td>
                  <Chip tone={result === 'accepted' ? 'good' : 'bad'}>{result}</Chip> {status ?? reason}
                </td>
                <td class="message">
                  {response !== undefined && <StoredText text={response} most={response.length} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** Chart ticks between whole numbers have no label. */
function wholeText(value: number): string {
  return Number.isInteger(value) ? countText(value) : ''
}

/** The number of readings in the chart. */
const mostReadings = 600

/** The length of the queue since the page was opened. */
function QueueChart({ depth, at_ms }: { readonly depth: number; readonly at_ms: number }) {
  const [course, setCourse] = useState<readonly (readonly [at_s: number, depth: number])[]>([])
  useEffect(() => {
    if (at_ms > 0) setCourse((before) => [...before.slice(1 - mostReadings), [at_ms / 1000, depth] as const])
  }, [at_ms])
  const content = {
    times_s: course.map(([at_s]) => at_s),
    lines: [{ label: 'waiting', values: course.map(([, each]) => each) }],
  }
  return <Chart title="Waiting since this page was opened" content={content} format={wholeText} height={140} />
}
