import { faultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { NodeAddress } from '../membership/route-table.js'
import { receivedCheckpoint } from './checkpoint-pieces.js'
import { checksum_bytes, linkHeaders, methodOf, pathOf } from './link-protocol.js'
import { callerHeaders, type LinkCaller, newLinkClient } from './node-connection.js'
import type { NodeSilent } from './position-questions.js'

/** The file of an environment, as it was on another node at one of its commits. */
export interface FetchedCheckpoint {
  /** The last record that the file has applied. */
  readonly applied: LogSequence
  readonly bytes: number
  /** Read it to its end or end it by `return`. Throws when the bytes that came are not those that were sent. */
  readonly pieces: AsyncGenerator<Buffer, void>
}

/** A fetch is given up when no byte arrives for so long. */
const silence_ms = 30_000

/** Asks a node for the file that follows a log. Refuses when the node has none, or one that is larger than allowed. */
export async function fetchCheckpoint(
  from: NodeAddress,
  caller: LinkCaller,
  log: LogName,
  most_bytes: number,
): Promise<Result<FetchedCheckpoint, NodeSilent>> {
  const client = newLinkClient(from, caller, silence_ms)
  const silent = async (reason: string): Promise<Result<never, NodeSilent>> => {
    await client.destroy()
    return err({ kind: 'nodeSilent', reason })
  }
  const target = { kind: 'checkpoint', log } as const
  try {
    const request = { method: methodOf(target), path: pathOf(target), headers: [...callerHeaders(caller)] }
    const { statusCode, headers, body } = await client.request(request)
    if (statusCode !== 200) {
      body.on('error', () => {}) // The body is not read: its connection is closed.
      return await silent(statusCode === 404 ? 'it sends no snapshot now' : `it answers ${statusCode}`)
    }
    const applied = Number(headers[linkHeaders.applied] ?? Number.NaN)
    const bytes = Number(headers['content-length'] ?? Number.NaN) - checksum_bytes
    const isRight = Number.isSafeInteger(applied) && applied >= 0 && bytes >= 0
    if (!isRight || bytes > most_bytes) {
      body.on('error', () => {})
      return await silent(
        isRight ? `its snapshot has ${bytes} bytes, and there is room for ${most_bytes}` : 'it sends no snapshot',
      )
    }
    const pieces = endingWith(receivedCheckpoint(body, bytes), () => client.destroy())
    return ok({ applied: applied as LogSequence, bytes, pieces })
  } catch (fault) {
    return silent(faultText(fault))
  }
}

async function* endingWith(pieces: AsyncIterable<Buffer>, ended: () => Promise<void>): AsyncGenerator<Buffer, void> {
  try {
    yield* pieces
  } finally {
    await ended()
  }
}
