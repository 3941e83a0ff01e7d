import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { BrokerProcess, DataFolder } from './broker-process.js'
import { MeasuredTab } from './console-tab.js'
import { updateReading } from './device.js'
import { askOnce, createDevices } from './fleet.js'
import { freePort } from './free-port.js'
import type { Harness } from './harness.js'
import { timesIn } from './rounds.js'
import { oneDevice, subscribe } from './subscriber.js'

/** How soon the page says that a receiver fails, and that the broker is back. */
export async function measureReactions(harness: Harness, browser: Browser): Promise<void> {
  const { main, flags, rounds, duration_s } = harness.options
  const folder = new DataFolder()
  const start = { main, folder, flags, port: await freePort() }
  let broker = await BrokerProcess.start(start)
  const tab = await MeasuredTab.open(browser)
  const receiver = await FickleReceiver.listen()
  const line = { bench: 'console', rounds }
  try {
    const { url } = broker
    await createDevices(url, 1, 0)
    await tab.load(url)
    harness.report.progress('console, a receiver that fails')
    const named = await timesIn(rounds, (round) => naming_ms(tab, url, receiver, round))
    harness.report.add({ ...line, case: 'a receiver that fails is named', ...named })
    // What watches a process restarts it at once; somebody who mends something needs longer.
    for (const absence_s of [0, 2 * duration_s]) {
      harness.report.progress(`console, back after ${absence_s} s`)
      const back = await timesIn(rounds, async () => {
        await broker.kill()
        await tab.page.locator('.banner', { hasText: 'No connection since' }).waitFor()
        await new Promise((resolve) => setTimeout(resolve, absence_s * 1000))
        broker = await BrokerProcess.start(start)
        return waited_ms(() => tab.page.locator('.banner').waitFor({ state: 'detached' }))
      })
      harness.report.add({ ...line, case: `back after a SIGKILL and ${absence_s} s`, ...back })
    }
    await tab.close()
    await broker.end()
  } catch (fault) {
    throw await broker.abandon(fault)
  } finally {
    receiver.close()
    folder.remove()
  }
}

/** From the first failure to the name on the page. */
async function naming_ms(tab: MeasuredTab, url: string, receiver: FickleReceiver, round: number): Promise<number> {
  const reference = `${receiver.url}/round-${round}`
  const greeted = receiver.asked(reference)
  await subscribe(url, reference, [oneDevice(0)])
  await greeted // It is sent the state that it begins with.
  receiver.fails = true
  const asked = receiver.asked(reference)
  await askOnce(url, updateReading(0, round))
  await asked
  const took_ms = await waited_ms(() => tab.page.locator('.concerns', { hasText: reference }).waitFor())
  receiver.fails = false
  return took_ms
}

async function waited_ms(work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

/** A receiver that answers with 500 while it is told to. */
class FickleReceiver {
  fails = false
  readonly #waiting = new Map<string, () => void>()
  readonly #server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(this.fails ? 500 : 200, { 'Content-Length': 0 }).end()
      this.#waiting.get(request.url ?? '')?.()
    })
  })

  static async listen(): Promise<FickleReceiver> {
    const receiver = new FickleReceiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  /** Resolves when it was asked for this URL. */
  asked(url: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(new URL(url).pathname, resolve))
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
