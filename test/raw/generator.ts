/** Numbers that a seed determines. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 to one less than `below` (mulberry32). */
  roll(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.roll(items.length)] ?? items[0]
  }
}

const targets = [
  '/v1/updateContext',
  '/v1/queryContext?limit=2',
  '/v1/contextEntities/E1/attributes/a',
  '/ngsi10/contextEntities/E1',
  '/v1/registry/discoverContextAvailability',
  '/version',
  '/health/ready',
  '/statistics',
  '/log/trace/1-5',
  '/%00/%zz',
  '*',
] as const
const verbs = ['GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE'] as const
const oddVerbs = ['HEAD', 'OPTIONS', 'NOP', 'CONNECT', 'PRI', 'PLAY', 'get', 'TRACE'] as const
const headers = ['Expect: 100-continue', 'Connection: close', 'Fiware-Correlator: c', 'Accept: */*'] as const
const oddHeaders = [
  'Expect: 100-continue',
  'Expect: else',
  'Connection: Upgrade\r\nUpgrade: h2c',
  'Fiware-Correlator: \xe9',
  'Fiware-ServicePath: /a/b',
  'Content-Length: 3',
  'Transfer-Encoding: gzip',
  'X: \t',
] as const
const bodies = [
  '{"contextElements":[{"type":"T","id":"E1","attributes":[{"name":"a","value":"1"}]}],"updateAction":"APPEND"}',
  '{"entities":[{"id":"E.*","isPattern":"true"}]}',
  '{"value":"2"}',
  '{',
  '',
] as const

/** One request as a client would send it, as its dice want it. */
function request(dice: Dice): string {
  const odd = dice.roll(4) === 0
  const verb = odd ? dice.pick(oddVerbs) : dice.pick(verbs)
  const lines = [`${verb} ${dice.pick(targets)} HTTP/1.${dice.roll(20) === 0 ? 0 : 1}`]
  if (dice.roll(20) > 0) lines.push('Host: h')
  if (verb !== 'GET' && dice.roll(10) > 0) lines.push('Content-Type: application/json')
  if (odd) lines.push(dice.pick(oddHeaders), dice.pick(oddHeaders))
  if (dice.roll(4) === 0) lines.push(dice.pick(headers))
  const body = dice.roll(60) === 0 ? 'x'.repeat(1_100_000) : dice.pick(bodies)
  if (verb === 'GET' && dice.roll(10) > 0) return [...lines, '', ''].join('\r\n')
  if (dice.roll(3) > 0) return [...lines, `Content-Length: ${body.length}`, '', body].join('\r\n')
  return [...lines, 'Transfer-Encoding: chunked', '', chunks(dice, body)].join('\r\n')
}

function chunks(dice: Dice, body: string): string {
  const parts: string[] = []
  const size = body.length > 1000 ? 70_000 : 1 + dice.roll(20)
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size)
    parts.push(`${part.length.toString(16)}\r\n${part}\r\n`)
  }
  parts.push(dice.roll(3) === 0 ? '0\r\nTrailer: 1\r\n\r\n' : '0\r\n\r\n')
  return parts.join('')
}

/** Bytes changed, left out, doubled. */
function damaged(dice: Dice, bytes: Buffer): Buffer {
  const at = dice.roll(bytes.length + 1)
  const end = Math.min(bytes.length, at + dice.roll(8))
  const put = Buffer.from(Array.from({ length: dice.roll(5) }, () => dice.roll(256)))
  const again = dice.roll(4) === 0 ? bytes.subarray(at, end) : Buffer.alloc(0)
  return Buffer.concat([bytes.subarray(0, at), put, again, bytes.subarray(end)])
}

/** What a client does on one connection. */
export interface Conversation {
  readonly packets: readonly Buffer[]
  /** Milliseconds before each packet but the first. */
  readonly pauses: readonly number[]
  readonly ending: 'wait' | 'end' | 'reset' | 'destroy'
}

/** The conversation of a number: the same one for the same seed and number. */
export function conversation(seed: number, number: number): Conversation {
  const dice = new Dice(seed * 1_000_003 + number)
  let bytes: Buffer = Buffer.from(Array.from({ length: 1 + dice.roll(4) }, () => request(dice)).join(''), 'latin1')
  if (dice.roll(30) === 0) bytes = Buffer.from(Array.from({ length: dice.roll(3000) }, () => dice.roll(256)))
  for (let count = Math.max(0, dice.roll(6) - 2); count > 0; count -= 1) bytes = damaged(dice, bytes)
  const packets: Buffer[] = []
  for (let cuts = dice.roll(4); cuts > 0; cuts -= 1) {
    const at = dice.roll(bytes.length + 1)
    packets.push(bytes.subarray(0, at))
    bytes = bytes.subarray(at)
  }
  packets.push(bytes)
  const pauses = packets.map(() => dice.pick([0, 0, 1, 3]))
  return { packets, pauses, ending: dice.pick(['wait', 'end', 'end', 'reset', 'destroy']) }
}
