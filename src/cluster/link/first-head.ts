import type { Socket } from 'node:net'

/** How the head of the first request of a connection is read, and what becomes of the connection. */
export interface FirstHeadRules {
  /** The most bytes of the head; of a longer one the first bytes are judged. */
  readonly head_bytes: number
  /** How long the head may take, and a refusal with what is read behind it. */
  readonly limit_ms: number
  /** The bytes of a refusal, after which the connection is closed; nothing for a caller that has authenticated. */
  refusalOf(head: FirstHead): string | undefined
  /** Serves a connection, which gives again all that has been read of it. */
  serve(socket: Socket): void
}

/** How much is read behind a refused head, so that its sender sees the refusal. */
const drained_bytes = 64 * 1024

const headEnd = '\r\n\r\n'

/**
 * Reads the head of the first request of a connection before Node's parser gets a byte of it. A caller that has not authenticated could keep
 * that busy: one read of a socket may bring thousands of requests or chunks of a body, all of which are parsed in one go. Its costs are those of
 * a few reads.
 */
export function awaitFirstHead(socket: Socket, rules: FirstHeadRules): void {
  let received: Buffer = Buffer.alloc(0)
  const limit = setTimeout(close, rules.limit_ms)
  function close(): void {
    socket.destroy()
  }
  function came(piece: Buffer): void {
    const from = Math.max(0, received.length - headEnd.length)
    received = Buffer.concat([received, piece])
    const start = received.subarray(0, rules.head_bytes)
    const end = start.indexOf(headEnd, from)
    if (end === -1 && start.length < rules.head_bytes) return
    socket.off('data', came).off('end', close)
    const refusal = rules.refusalOf(new FirstHead(start.toString('latin1', 0, end === -1 ? undefined : end)))
    if (refusal === undefined) proceed()
    else refuse(socket, refusal)
  }
  function proceed(): void {
    clearTimeout(limit)
    socket.off('error', close).off('close', closed)
    socket.pause()
    socket.unshift(received)
    rules.serve(socket)
    socket.resume()
  }
  function closed(): void {
    clearTimeout(limit)
  }
  socket.on('data', came).on('end', close).on('error', close).on('close', closed)
}

/** Writes the last bytes of a connection, and closes it when its caller has read them. */
function refuse(socket: Socket, refusal: string): void {
  let drained = 0
  socket.on('data', ({ length }: Buffer) => {
    drained += length
    if (drained > drained_bytes) socket.destroy()
  })
  socket.once('end', () => socket.destroySoon())
  socket.end(refusal)
}

/** The head of a request whose caller may be anybody. */
export class FirstHead {
  readonly #lines: readonly string[]

  constructor(text: string) {
    this.#lines = text.split('\r\n').slice(1)
  }

  /** The value of the first header of a name, which is given in lower case. */
  header(name: string): string | undefined {
    const start = `${name}:`
    const line = this.#lines.find((each) => each.slice(0, start.length).toLowerCase() === start)
    return line?.slice(start.length).trim()
  }
}
