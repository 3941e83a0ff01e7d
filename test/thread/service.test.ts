import { test } from 'tap'
import { type Method, methodsOf, type Operations, oneByOne } from '../../src/threads/calls/service.js'

interface Services {
  greet(name: string): void
  readonly counter: { add(amount: number): Promise<number> }
  readonly echo?: { say(what: unknown): Promise<unknown> } | undefined
}

const operations: Operations<Services> = { greet: 'tell', counter: { add: 'ask' }, echo: { say: 'ask' } }

test('a service offers its operations and those of the services that it has, and no other method', async (t) => {
  class Counter {
    #sum = 0

    async add(amount: number): Promise<number> {
      this.#sum += amount
      return this.#sum
    }

    reset(): void {
      this.#sum = 0
    }
  }
  const greeted: string[] = []
  const methods = methodsOf<Services>({ greet: (name) => greeted.push(name), counter: new Counter() }, operations)
  t.same([...methods.keys()], ['greet', 'counter.add'])
  methods.get('greet')?.(['all'])
  t.same(greeted, ['all'])
  t.equal(await methods.get('counter.add')?.([3]), 3)
})

test('what is called while something is under way is begun behind it, and nothing behind what has failed', async (t) => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const methods = oneByOne(
    new Map<string, Method>([
      ['say', ([what]: readonly unknown[]) => begun.push(String(what))],
      ['wait', () => new Promise<void>((resolve) => ends.push(resolve))],
      ['fail', () => Promise.reject(new Error('it cannot be done'))],
    ]),
  )
  const call = (name: string, ...request: readonly unknown[]): unknown => methods.get(name)?.(request)
  call('say', 1)
  call('wait')
  const second = call('say', 2)
  await new Promise(setImmediate)
  t.same(begun, ['1'])
  ends[0]?.()
  await second
  t.same(begun, ['1', '2'])
  const failed = call('fail')
  const behind = call('say', 3)
  await t.rejects(Promise.resolve(failed), { message: 'it cannot be done' })
  await t.rejects(Promise.resolve(behind), { message: 'it cannot be done' })
  t.same(begun, ['1', '2'])
})
