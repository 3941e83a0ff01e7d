import { setTimeout as sleep } from 'node:timers/promises'
import type { EtcdCalls } from './etcd-client.js'

/** How long etcd may take, in all, to answer what one step of a start asks. */
const usualPatience_ms = 10_000
const again_ms = 200

/**
 * Calls that are repeated while no member of etcd answers, for this long from now: a broker that starts waits for a majority. A call
 * without a response may have been carried out, so use it for what may be carried out twice.
 */
export function patientCalls(client: EtcdCalls, patience_ms = usualPatience_ms): EtcdCalls {
  const until_ms = performance.now() + patience_ms
  return {
    call: async (name, request) => {
      for (;;) {
        const called = await client.call(name, request)
        if (called.ok || called.error.kind !== 'unavailable' || performance.now() > until_ms) return called
        await sleep(again_ms)
      }
    },
    open: client.open.bind(client),
    close: () => client.close(),
  }
}
