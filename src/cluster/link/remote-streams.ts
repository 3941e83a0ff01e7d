import { StringDecoder } from 'node:string_decoder'
import type { Client } from 'undici'
import type {
  OpenStream,
  StreamEnd,
  StreamPiece,
  StreamRefusal,
  StreamRequest,
} from '../../delivery/streams/stream-message.js'
import { err, ok, type Result } from '../../result.js'
import type { NodeAddress } from '../membership/route-table.js'
import { methodOf, pathOf } from './link-protocol.js'
import { callerHeaders, type LinkCaller, newLinkClient } from './node-connection.js'
import { parseStreamPiece, parseStreamRefusal, streamRequestText, streamSilence_ms } from './stream-relay.js'

/** Opens a stream of another node on a connection of its own; never rejects. */
export async function openRemoteStream(
  from: NodeAddress,
  caller: LinkCaller,
  request: StreamRequest,
  take: (piece: StreamPiece) => void,
): Promise<Result<OpenStream, StreamRefusal | 'away'>> {
  const client = newLinkClient(from, caller, streamSilence_ms)
  const target = { kind: 'streams' } as const
  try {
    const { statusCode, body } = await client.request({
      ...{ method: methodOf(target), path: pathOf(target), headers: [...callerHeaders(caller)] },
      body: streamRequestText(request),
    })
    if (statusCode === 200) return ok(new RemoteStream(client, body, take))
    const refusal = parseStreamRefusal(await body.text())
    await client.destroy()
    return err(refusal ?? 'away')
  } catch {
    await client.destroy()
    return err('away') // The caller asks again.
  }
}

/** A stream of another node. It is read no further until the client has been handed the last piece. */
class RemoteStream implements OpenStream {
  readonly #client: Client
  readonly #take: (piece: StreamPiece) => void
  #isOver = false
  #taken: () => void = () => {}

  constructor(client: Client, body: AsyncIterable<Buffer>, take: (piece: StreamPiece) => void) {
    this.#client = client
    this.#take = take
    void this.#read(body)
  }

  took(): void {
    this.#taken()
  }

  close(): void {
    this.#isOver = true
    this.#taken()
    void this.#client.destroy()
  }

  async #read(body: AsyncIterable<Buffer>): Promise<void> {
    const decoder = new StringDecoder()
    let rest = ''
    try {
      for await (const bytes of body) {
        rest += decoder.write(bytes)
        if (!bytes.includes('\n')) continue
        const lines = rest.split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') await this.#pass(line)
      }
    } catch {
      // The connection is broken, or was closed here.
    }
    this.#end('interrupted')
  }

  async #pass(line: string): Promise<void> {
    const piece = parseStreamPiece(line)
    if (this.#isOver) return
    if (piece?.kind !== 'events') {
      this.#end(piece?.why ?? 'interrupted')
      return
    }
    const taken = new Promise<void>((resolve) => {
      this.#taken = resolve
    })
    this.#take(piece)
    await taken
  }

  #end(why: StreamEnd): void {
    if (this.#isOver) return
    this.close()
    this.#take({ kind: 'ended', why })
  }
}
