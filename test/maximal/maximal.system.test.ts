import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { leastTime_ms, limitNow_ms } from '../pace.js'
import { MeasuredBroker } from './broker.js'
import { type Maximal, maximal } from './requests.js'

/** All requests, with a table of what they hold, where RIGEL_MAXIMAL=long asks for it; RIGEL_MAXIMAL_ONLY picks some by name. */
const isLong = process.env['RIGEL_MAXIMAL'] === 'long'
const only = new RegExp(process.env['RIGEL_MAXIMAL_ONLY'] ?? '')
const meant = maximal.filter(({ isOfShortForm = false, name }) => (isLong || isOfShortForm) && only.test(name))

/** A hold counts when it comes every time: other programs and the collection of garbage come as they like. */
const tries = 5

/** The short form runs beside other tests, on machines that stand still: it finds what is not done in slices at all. */
const most_ms = isLong ? 50 : 500

/**
 * How long a request may hold a thread on the machine as it is now. A body is parsed at once, which takes half of the time that
 * there is, and more where a single object has a hundred thousand members.
 */
function mostNow_ms(body: string | undefined): number {
  const limit_ms = limitNow_ms(most_ms)
  return body === undefined ? limit_ms : Math.max(limit_ms, 2 * leastTime_ms(() => parsed(body)))
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

interface Holds {
  readonly main_ms: number
  readonly others_ms: number
  readonly collection_ms: number
}

/** The least that a request holds the main thread, and any other one. */
async function holdsOf(t: Test, broker: MeasuredBroker, { name, sent, before = [], expects }: Maximal): Promise<Holds> {
  let [main_ms, others_ms, collection_ms] = [Infinity, Infinity, Infinity]
  for (let tried = 0; tried < tries && (isLong || main_ms > mostNow_ms(sent.body)); tried += 1) {
    for (const request of before) await broker.send(request)
    await broker.held()
    const { status, text } = await broker.send(sent)
    const [main, ...others] = await broker.held()
    if (main === undefined) throw new Error('the main thread does not answer')
    if (!expects.test(text)) t.fail(`${name}: ${status} ${text.slice(0, 200)}`)
    main_ms = Math.min(main_ms, main.hold_ms)
    collection_ms = Math.min(collection_ms, main.collection_ms)
    others_ms = Math.min(others_ms, Math.max(...others.map(({ hold_ms }) => hold_ms)))
  }
  return { main_ms, others_ms, collection_ms }
}

test('no request holds the main thread for long', async (t) => {
  t.setTimeout(isLong ? 1_800_000 : 300_000)
  const folder = mkdtempSync(join(tmpdir(), 'probe-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const broker = await MeasuredBroker.start(t, folder, ['-logLevel', 'ERROR', '-subscriptionsMax', '10000000'])
  for (const request of meant) {
    const { main_ms, others_ms, collection_ms } = await holdsOf(t, broker, request)
    const limit_ms = mostNow_ms(request.sent.body)
    if (isLong)
      t.comment(`${shown(main_ms)} main ${shown(others_ms)} others ${shown(collection_ms)} collection: ${request.name}`)
    t.ok(main_ms <= limit_ms, `${request.name}: ${main_ms} ms of ${limit_ms} ms`)
  }
})

function shown(ms: number): string {
  return ms.toFixed(0).padStart(5)
}
