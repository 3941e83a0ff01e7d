import { readingOf, updatesOf } from './device.js'
import { createDevices, deviceResponse } from './fleet.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import { missingPackages } from './installed.js'
import type { PeerReply } from './postgres-peer.js'
import { besides, inTurns, medians, times } from './rounds.js'

/** The same promise kept by other means: an update that is answered is on disk. */
export const peers: Bench = {
  name: 'peers',
  question: 'the updates of ingest, by number of connections, against PostgreSQL behind Fastify on this machine',
  run: async (harness) => {
    const missing = missingPackages('fastify', 'pg')
    if (missing.length > 0) {
      harness.report.note(`Left out, since the sources only have ${missing.join(' and ')}: peers.`)
      return
    }
    const postgres = new Helper<object, PeerReply>('./postgres-peer.js')
    try {
      const peer = await postgres.ask({})
      if (peer.kind === 'notInstalled') {
        harness.report.note('Left out, since PostgreSQL is not installed (Debian has it as postgresql): peers.')
        return
      }
      harness.report.note(`peers: ${peer.description}`)
      await createDevices(peer.url, harness.options.devices, 0)
      await harness.withDevices([], async (url) => {
        for (const connections of harness.options.connections) await measure(harness, connections, url, peer.url)
      })
      const found = readingOf(await deviceResponse(peer.url, 0))
      if ('wrong' in found) harness.report.fail(`peers: a device of the peer has ${found.wrong}`)
    } finally {
      await postgres.end()
    }
  },
}

async function measure(harness: Harness, connections: number, url: string, peer: string): Promise<void> {
  const { devices, duration_s, rounds } = harness.options
  const requests = updatesOf(devices)
  const load = { connections, requests, checked: true, ...times(duration_s / rounds) }
  const title = `peers, ${connections} connections`
  const { measured, reference } = await inTurns(
    rounds,
    harness.rounds(title, { ...load, url }),
    harness.rounds(`${title}, PostgreSQL`, { ...load, url: peer }),
  )
  harness.report.add({
    bench: 'peers',
    case: 'updateContext',
    connections,
    rounds,
    ...medians(measured),
    ...besides('reference_per_s', measured, reference),
  })
}
