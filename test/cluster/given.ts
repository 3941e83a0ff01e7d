import { setTimeout as delay } from 'node:timers/promises'
import { member } from '../../bench/ngsi.js'
import type { Result } from '../../src/result.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'

let clusters = 0

/** Asks again while etcd does not answer in time: a disk may be slow, or no member lead for a moment. What was not answered may have been done. */
export function whenAvailable<T, Fault extends { readonly kind: string }>(
  send: () => Promise<Result<T, Fault>>,
): Promise<Result<T, Fault>> {
  return until(async () => {
    const result = await send()
    return (result.ok || result.error.kind !== 'unavailable') && result
  }, 'etcd answers')
}

/** The name of a cluster that no other test has. */
export function freshName(): string {
  clusters += 1
  return `test-${process.pid}-${clusters}`
}

/** The value of an attribute as text, nothing when there is none: asked again while the node answers 503, since owners are late. */
export async function confirmedText(broker: RunningBroker, id: string, name: string): Promise<string | undefined> {
  const shown = async () => {
    const reply = await broker.send('GET', `/v2/entities/${id}/attrs/${name}`)
    return reply.status !== 503 && reply
  }
  const { json } = await until(shown, `a node answers for ${id}`)
  const value = member(json, 'value')
  return value === undefined ? undefined : String(value)
}

/** The value of an attribute, as text; nothing when there is none. */
export async function attributeText(broker: RunningBroker, id: string, name: string): Promise<string | undefined> {
  const { json } = await broker.send('GET', `/v2/entities/${id}/attrs/${name}`)
  const value = member(json, 'value')
  return value === undefined ? undefined : String(value)
}

/** The outcome of a request; nothing when it takes longer than the limit. */
export async function inTime<Value>(request: Promise<Value>, limit_ms: number): Promise<Value | undefined> {
  const late = new AbortController()
  const limit = delay(limit_ms, undefined, { signal: late.signal }).catch(() => undefined)
  try {
    return await Promise.race([request, limit])
  } finally {
    late.abort()
  }
}
