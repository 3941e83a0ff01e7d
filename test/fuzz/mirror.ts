import { isDeepStrictEqual } from 'node:util'
import { items, member } from '../../bench/ngsi.js'
import { jsonOf, type Random } from './random.js'
import type { FuzzRequest } from './requests.js'
import { oddText } from './values.js'

/** What an attempt of the mirror needs: a request, and what is wrong with its response. */
export interface MirrorStep {
  readonly request: FuzzRequest
  readonly fault: (response: unknown) => string | undefined
}

type Draft = readonly [verb: string, path: string, body: unknown]

/** A tenant in which nobody else writes. */
const own = ['Content-Type: application/json', 'Fiware-Service: mirror']

/** Keeps what a few entities hold, writes to them in all ways that there are, and says when a read shows anything else. */
export class Mirror {
  readonly #values = new Map<string, unknown>()

  step(random: Random): MirrorStep {
    const id = `M${random.below(5)}`
    return random.once(2) || !this.#values.has(id) ? this.#write(random, id) : this.#read(random, id)
  }

  #write(random: Random, id: string): MirrorStep {
    const value = allowed(random)
    const attribute = { name: 'a', type: 'T', value }
    const isNew = !this.#values.has(id)
    const element = { type: 'Mirror', isPattern: 'false', id, attributes: [attribute] }
    const updateAction = isNew ? 'APPEND' : random.pick(['APPEND', 'UPDATE'])
    const drafts: readonly [Draft, ...Draft[]] = [
      ['POST', '/v1/updateContext', { contextElements: [element], updateAction }],
      ['POST', `/v1/contextEntities/type/Mirror/id/${id}`, { attributes: [attribute] }],
      ['PUT', `/v1/contextEntities/type/Mirror/id/${id}/attributes/a`, { value }],
      ['POST', `/v1/contextEntities/type/Mirror/id/${id}/attributes/a`, { type: 'T', value }],
    ]
    const [verb, path, body] = isNew ? drafts[0] : random.pick(drafts)
    this.#values.set(id, value)
    const request = { verb, path, headers: own, body: jsonOf(body) }
    return { request, fault: (response) => (isDone(response) ? undefined : 'an update that is right was refused') }
  }

  #read(random: Random, id: string): MirrorStep {
    const value = this.#values.get(id)
    const query = (selector: object): FuzzRequest => ({
      verb: 'POST',
      path: '/v1/queryContext',
      headers: own,
      body: jsonOf({ entities: [{ type: 'Mirror', ...selector }] }),
    })
    const read = (path: string): FuzzRequest => ({ verb: 'GET', path, headers: own, body: undefined })
    const request = random.pick([
      read(`/v1/contextEntities/${id}`),
      read(`/v1/contextEntities/${id}/attributes/a`),
      read(`/v1/contextEntities/type/Mirror/id/${id}`),
      read('/v1/contextEntityTypes/Mirror?limit=1000'),
      query({ id, isPattern: 'false' }),
      query({ id: `^${id}$`, isPattern: 'true' }),
      query({ id: '.*', isPattern: 'true' }),
    ])
    return { request, fault: (response) => readFault(response, id, value) }
  }
}

/** Values that every way of writing takes; forbidden characters are none of them. */
function allowed(random: Random): unknown {
  const text = Buffer.from(oddText(random))
    .toString()
    .replaceAll(/[<>"'=;()\p{Cc}]/gu, '')
  const value = `${random.below(1e9)} ${text}`
  return random.pick<unknown>([value, value, [value, 'x'], { k: value, l: ['1', { m: 'n' }] }])
}

function isDone(payload: unknown): boolean {
  const [response] = items(member(payload, 'contextResponses'))
  const status =
    member(response, 'statusCode') ?? member(payload, 'errorCode') ?? member(payload, 'statusCode') ?? payload
  return member(status, 'code') === '200'
}

function readFault(response: unknown, id: string, value: unknown): string | undefined {
  const elements = [response, ...items(member(response, 'contextResponses'))].map(
    (each) => member(each, 'contextElement') ?? each,
  )
  const element = elements.find((each) => member(each, 'id') === id) ?? response
  const [attribute] = items(member(element, 'attributes'))
  const shown = member(attribute, 'value')
  return isDeepStrictEqual(shown, value) ? undefined : `${id} should hold ${JSON.stringify(value)}`
}
