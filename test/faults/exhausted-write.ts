import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/**
 * A heap that ends at the worst moment, inside a broker: `node --import` loads it into every thread. Once the file of
 * `RIGEL_EXHAUSTED_WRITE` is there, whoever notes in a write transaction which record it has applied runs out of memory.
 */
const trigger = process.env['RIGEL_EXHAUSTED_WRITE']
if (trigger !== undefined && !isMainThread) exhaustIn(trigger)

function exhaustIn(trigger: string): void {
  globalThis.String = new Proxy(String, {
    apply: (target, self, given) => {
      if (typeof given[0] === 'number' && existsSync(trigger) && isInTransaction()) exhaust()
      return Reflect.apply(target, self, given)
    },
  })
}

function isInTransaction(): boolean {
  return / at \S*transactionSync /.test(new Error().stack ?? '')
}

function exhaust(): never {
  for (const held: number[][] = []; ; ) held.push(new Array(1e6).fill(held.length + 0.5))
}
