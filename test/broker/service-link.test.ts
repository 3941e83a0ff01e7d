import { MessageChannel } from 'node:worker_threads'
import { test } from 'tap'
import { remoteService, serveService } from '../../src/broker/service-link.js'

interface Counter {
  add(amount: number): Promise<number>
  divide(by: number): Promise<number>
}
const operations = ['add', 'divide'] as const

class OwnCounter implements Counter {
  #sum = 0

  async add(amount: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, amount === 1 ? 20 : 0))
    this.#sum += amount
    return this.#sum
  }

  async divide(by: number): Promise<number> {
    if (by === 0) throw new Error('nobody divides by zero')
    return this.#sum / by
  }
}

test('an owner is used over a port as if it were here, several questions at a time', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  serveService(port1, new OwnCounter(), operations)
  const counter = remoteService<Counter, (typeof operations)[number]>(port2, operations)
  const slow = counter.add(1)
  t.equal(await counter.add(10), 10, 'a later question does not wait for an earlier one')
  t.equal(await slow, 11)
  t.equal(await counter.divide(11), 1)
  await t.rejects(counter.divide(0), { message: /nobody divides by zero/ })
})
