import type { ServerResponse } from 'node:http'
import {
  type StreamingCourier,
  type StreamPiece,
  type StreamRefusal,
  type StreamRequest,
  streamEnds,
  streamRefusals,
} from '../../delivery/streams/stream-message.js'
import { idOfPosition, positionOfId, type StreamPosition } from '../../delivery/streams/stream-position.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { jsonIn } from '../../unchecked-json.js'

/** How often an idle stream shows that its node is alive. */
const beat_ms = 1000

/** After this long without a byte, the node of a stream counts as gone. */
export const streamSilence_ms = 5 * beat_ms

/**
 * Sends a stream of this node to another one, one line per piece, until either end closes it. Pieces are taken from the stream
 * only as fast as the other node reads.
 */
export async function relayStream(
  courier: StreamingCourier,
  request: StreamRequest,
  to: ServerResponse,
): Promise<void> {
  let early: StreamPiece[] | undefined = []
  const opened = await courier.open(request, (piece) => (early === undefined ? send(piece) : early.push(piece)))
  if (!opened.ok) {
    const body = Buffer.from(JSON.stringify({ refused: opened.error }))
    to.writeHead(409, { 'Content-Length': body.length }).end(body)
    return
  }
  const stream = opened.value
  const beat = setInterval(() => {
    if (!to.writableNeedDrain) to.write('\n')
  }, beat_ms)
  const over = (): void => {
    clearInterval(beat)
    stream.close()
  }
  function send(piece: StreamPiece): void {
    if (to.writableEnded) return
    to.write(`${JSON.stringify(piece)}\n`, (fault) => {
      if (!fault && piece.kind === 'events') stream.took(piece.notices)
    })
    if (piece.kind === 'ended') to.end()
  }
  to.once('close', over)
  to.writeHead(200).flushHeaders()
  for (const piece of early) send(piece)
  early = undefined
  if (to.closed) over()
}

export function streamRequestText({ after, ...request }: StreamRequest): string {
  return JSON.stringify({ ...request, after: after && streamPositionText(after) })
}

export function streamPositionText(position: StreamPosition): string {
  const [first = 0] = position.sent.keys()
  return idOfPosition(position, first)
}

/** Parses a request of another node; undefined when it is malformed. */
export function parseStreamRequest(text: string): StreamRequest | undefined {
  const { subscription, after, group, isExplicit, since } = membersOf(text)
  const position = typeof after === 'string' ? positionOfId(after) : undefined
  const isWhole =
    typeof subscription === 'string' && typeof since === 'number' && (after === undefined || position !== undefined)
  if (!isWhole || (group !== undefined && typeof group !== 'string')) return undefined
  const terms = { group, isExplicit: isExplicit === true, since: since as Milliseconds }
  return { subscription: subscription as SubscriptionId, after: position, ...terms }
}

/** Parses what a client of another node has received of a subscription; undefined when it is malformed. */
export function parseConfirmation(
  text: string,
): { readonly subscription: SubscriptionId; readonly upTo: StreamPosition } | undefined {
  const { subscription, upTo } = membersOf(text)
  const position = typeof upTo === 'string' ? positionOfId(upTo) : undefined
  if (typeof subscription !== 'string' || position === undefined) return undefined
  return { subscription: subscription as SubscriptionId, upTo: position }
}

/** Parses a piece of another node's stream; undefined when it is malformed. */
export function parseStreamPiece(line: string): StreamPiece | undefined {
  const { kind, text, notices, why } = membersOf(line)
  if (kind === 'events' && typeof text === 'string' && typeof notices === 'number') return { kind, text, notices }
  const end = streamEnds.find((known) => known === why)
  return kind === 'ended' && end !== undefined ? { kind, why: end } : undefined
}

/** Parses why another node has no stream; undefined when it is malformed. */
export function parseStreamRefusal(text: string): StreamRefusal | undefined {
  const { refused } = membersOf(text)
  return streamRefusals.find((known) => known === refused)
}

/** The members of an object; none for other values and for malformed JSON. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  const raw = jsonIn(text)
  return typeof raw === 'object' && raw !== null ? { ...raw } : {}
}
