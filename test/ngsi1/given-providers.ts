import { createServer, type IncomingHttpHeaders } from 'node:http'
import { ngsi1Format } from '../../src/api/ngsi1/forward/ngsi1-format.js'
import { ngsi2Format } from '../../src/api/ngsi2/forward/ngsi2-format.js'
import type { Broker } from '../../src/broker/front-end/broker.js'
import type { Forwarding } from '../../src/broker/providers/forwarder.js'
import { Providers, type ProvidersSettings } from '../../src/broker/providers/providers.js'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../src/model/context/entity.js'
import { compileQuery } from '../../src/model/context/match.js'
import { inPaths } from '../../src/model/context/query.js'
import type { UpdateElement } from '../../src/model/context/update.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { LineLog } from '../../src/observe/log/log.js'
import { ok } from '../../src/result.js'
import { ForwardLimit } from '../../src/threads/shared-memory/limits.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { type Milliseconds, now } from '../../src/time.js'
import { noRegistrations, scripted } from './given.js'

interface Closing {
  teardown(close: () => unknown): void
}

/** What a provider was asked. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export interface Served {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent as it stands, everything else as JSON; nothing: an empty body. */
  readonly body?: unknown
}

export interface Provider {
  /** What is registered as `providingApplication`. */
  readonly url: string
  readonly received: Received[]
  /** What it answers from now on; nothing at all without it. */
  serve(served: Served | undefined): void
}

/** A real provider on a port of its own. */
export async function provider(t: Closing, served: Served = {}): Promise<Provider> {
  const received: Received[] = []
  let response: Served | undefined = served
  const server = createServer((incoming, outgoing) => {
    let text = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (chunk: string) => {
      text += chunk
    })
    incoming.on('end', () => {
      received.push({ path: incoming.url ?? '', headers: incoming.headers, body: JSON.parse(text) })
      if (response === undefined) return
      const { status = 200, headers = {}, body } = response
      outgoing.writeHead(status, headers)
      outgoing.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    received,
    serve: (next) => {
      response = next
    },
  }
}

/** A URL at which nobody listens any more. */
export async function nobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
}

export interface Registered {
  readonly id?: string
  readonly type?: string
  readonly attributes?: readonly string[]
  readonly provider: string
  readonly path?: string
  readonly tenant?: string
  readonly expires?: number
}

/** An index of registrations of one entity each, in the order of their creation. */
export function registered(...registrations: readonly Registered[]): RegistrationIndex {
  const index = new RegistrationIndex()
  for (const [order, registration] of registrations.entries()) {
    const { id = 'Street-4', type = 'Street', attributes = [], provider, path = '/', tenant = '' } = registration
    index.put({
      id: String(order).padStart(24, '0') as RegistrationId,
      order,
      tenant: tenant as Tenant,
      path: path as ServicePath,
      expires: (registration.expires ?? now() + 60_000) as Milliseconds,
      contexts: [
        {
          entities: [{ id: id as EntityId, type: type as EntityType }],
          attributes: attributes.map((name) => ({ name, type: 'any', isDomain: false })),
          provider,
        },
      ],
    })
  }
  return index
}

/** A broker that holds these entities in memory, by the rules of the real one. */
export function holding(
  index: RegistrationIndex,
  ...held: readonly Entity[]
): { readonly broker: Broker; readonly updates: UpdateElement[]; readonly entities: () => readonly Entity[] } {
  let entities = [...held]
  const updates: UpdateElement[] = []
  const broker = scripted({
    registry: { ...noRegistrations, index },
    update: async (elements) => {
      updates.push(...elements)
      return ok(
        elements.map((element) => {
          const meant = entities.filter(({ id, path }) => id === element.id && path === element.path)
          const command = { ...element, kind: 'update', sequence: entities.length as Sequence, time: now() } as const
          const { reply, effects } = applyUpdate(meant, command)
          for (const effect of effects) {
            const { id, type, path } = effect.entity
            entities = entities.filter((other) => other.id !== id || other.type !== type || other.path !== path)
            if (effect.kind === 'put') entities.push(effect.entity)
          }
          return reply
        }),
      )
    },
    entities: async (_, paths, id, type) =>
      ok(
        entities.filter(
          (entity) => entity.id === id && inPaths(entity.path, paths) && (type === undefined || entity.type === type),
        ),
      ),
    recentEntities: (_, paths, id) => entities.filter((entity) => entity.id === id && inPaths(entity.path, paths)),
    query: async (query) => {
      const found = entities.filter(compileQuery(query))
      const page = found.slice(query.offset, query.offset + query.limit)
      return ok({ entities: page, count: query.counted ? found.length : undefined })
    },
  })
  return { broker, updates, entities: () => entities }
}

/** Real providers' client, with what it reports. */
export interface Passing {
  readonly forwarding: Forwarding
  readonly attempts: (readonly [url: string, reason: string | undefined])[]
  readonly counted: string[]
  readonly lines: string[]
  readonly switches: Switches
}

export function passing(
  t: Closing,
  settings: Partial<ProvidersSettings> = {},
  limit = 1000,
  brokerId = '0123456789abcdef',
): Passing {
  const [attempts, counted, lines]: [Passing['attempts'], string[], string[]] = [[], [], []]
  const switches = new Switches()
  const log = new LineLog(switches, ({ area, op, message, context }) =>
    lines.push(`${area ?? op} ${context?.corr} ${context?.trans}: ${message}`),
  )
  let number = 0
  const providers = new Providers({
    limit_ms: 60_000,
    waitLimit_ms: 60_000,
    requestLimit_bytes: 1_000_000,
    insecure: false,
    log,
    shownPayload_bytes: () => 5000,
    transaction: () => {
      number += 1
      return `trans-${number}`
    },
    count: (name) => counted.push(name),
    attempted: (url, reason) => attempts.push([url, reason]),
    ...settings,
  })
  t.teardown(() => providers.close())
  return {
    forwarding: {
      providers,
      formats: { ngsi1: ngsi1Format, ngsi2: ngsi2Format },
      brokerId,
      limit,
      waiting: new ForwardLimit(1000, 500),
      deprecated: { note: () => undefined },
    },
    attempts,
    counted,
    lines,
    switches,
  }
}

const okStatus = { code: '200', reasonPhrase: 'OK' }

/** A response of a provider: attributes of one entity. */
export function responseWith(
  attributes: readonly unknown[],
  {
    id = 'Street-4',
    type = 'Street',
    statusCode = okStatus,
  }: { id?: string; type?: string; statusCode?: unknown } = {},
): Served {
  return { body: { contextResponses: [elementOf(attributes, { id, type, statusCode })] } }
}

/** An element of a response, of a provider's or of ours. */
export function elementOf(
  attributes: readonly unknown[],
  {
    id = 'Street-4',
    type = 'Street',
    statusCode = okStatus,
  }: { id?: string; type?: string; statusCode?: unknown } = {},
): unknown {
  const shown = attributes.length === 0 ? {} : { attributes }
  return { contextElement: { type, isPattern: 'false', id, ...shown }, statusCode }
}
