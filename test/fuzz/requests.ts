import { jsonOf, type Random } from './random.js'
import { damaged, nameIn, oddText, valueIn } from './values.js'

/** A request as it is sent. */
export interface FuzzRequest {
  readonly verb: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: string | undefined
}

/** What earlier responses have given names to, and where notifications and forwarded requests may go. */
export interface Known {
  readonly subscriptions: string[]
  readonly registrations: string[]
  readonly availability: string[]
  readonly far: string
}

interface Draft {
  readonly verb: string
  readonly path: string
  readonly body?: unknown
}

/** One request of the grammar: right as often as not, otherwise wrong in one place or in several. */
export function requestIn(random: Random, known: Known): FuzzRequest {
  const draft = random.pick(productions)(random, known)
  const body = bodyOf(random, draft.body)
  return { verb: verbOf(random, draft.verb), path: pathOf(random, draft.path), headers: headersIn(random), body }
}

const productions: readonly [Production, ...Production[]] = [
  update,
  update,
  update,
  query,
  query,
  entityRead,
  entityRead,
  entityWrite,
  entityWrite,
  typesRead,
  subscribe,
  subscriptionChange,
  register,
  discover,
  availability,
  notify,
  management,
]

type Production = (random: Random, known: Known) => Draft

function bodyOf(random: Random, body: unknown): string | undefined {
  if (body === undefined) return random.once(20) ? '{}' : undefined
  const text = jsonOf(changed(random, body))
  if (!random.once(30)) return text
  const at = random.below(text.length + 1)
  return random.pick([text.slice(0, at), `${text}}`, ` ${text}\n`, `${text.slice(0, at)},${text.slice(at)}`, ''])
}

/** In every third case damaged, and of those every third once more. */
function changed(random: Random, body: unknown): unknown {
  return random.once(3) ? changed(random, damaged(random, body)) : body
}

function verbOf(random: Random, verb: string): string {
  return random.once(25) ? random.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW']) : verb
}

function pathOf(random: Random, path: string): string {
  const parameters = random.list(random.once(3) ? 3 : 0, () => parameterIn(random))
  const whole = random.once(40) ? `${path}/${encodeURIComponent(wellFormed(oddText(random)))}` : path
  return parameters.length === 0 ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${parameters.join('&')}`
}

function parameterIn(random: Random): string {
  const number = random.pick(['0', '1', '2', '20', '1000', '1001', '-1', 'x', '', '999999999999', '1e3'])
  return random.pick([
    `limit=${number}`,
    `offset=${number}`,
    `details=${random.pick(['on', 'off', 'ON', ''])}`,
    `orderBy=${random.pick(['a0', '!a1', 'a0,a1', '', ',', 'id', 'x'.repeat(200)])}`,
    `attributesFormat=${random.pick(['object', 'x'])}`,
    `entity::type=${nameIn(random, 'T').replaceAll(/[^A-Za-z0-9]/g, '')}`,
    '!exist=entity::type',
    'collapse=true',
    `attrs=a0,a${random.below(9)}`,
    '%zz=1',
    'a=b=c&&',
  ])
}

function headersIn(random: Random): readonly string[] {
  const accept = random.once(10)
    ? [`Accept: ${random.pick(['*/*', 'text/html', 'application/xml', 'a/b;q=x', ''])}`]
    : []
  const type = random.once(20)
    ? random.pick(['text/plain', 'application/xml', '', 'application/json; charset=utf-8'])
    : 'application/json'
  const service = random.once(3)
    ? [`Fiware-Service: ${random.pick(['one', 'two', 'One', 'a-b', '', 'x'.repeat(60)])}`]
    : []
  const path = random.once(3)
    ? [
        `Fiware-ServicePath: ${random.pick(['/', '/a', '/a/b', '/a/#', '/#', '/a, /b', 'a', '/x y', `/${'a/'.repeat(12)}`, ''])}`,
      ]
    : []
  return [`Content-Type: ${type}`, ...accept, ...service, ...path]
}

/** Paths are of single characters of UTF-8: half a character cannot be encoded. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

function segment(random: Random, kind: string): string {
  return encodeURIComponent(wellFormed(nameIn(random, kind)))
}

function metadataIn(random: Random): unknown {
  const name = random.once(3) ? random.pick(['ID', 'location']) : nameIn(random, 'm')
  return { name, type: nameIn(random, 'U'), value: random.once(6) ? valueIn(random) : `${random.below(4)}` }
}

function attributeIn(random: Random): unknown {
  const located = random.once(15)
  return {
    name: nameIn(random, 'a'),
    type: located ? 'coords' : random.once(4) ? undefined : nameIn(random, 'U'),
    value: located ? random.pick(['1, 2', '91, 0', 'x', '40.418889, -3.691944']) : valueIn(random),
    metadatas: random.once(3)
      ? random.list(3, () => metadataIn(random))
      : located
        ? [{ name: 'location', type: 'string', value: 'WGS84' }]
        : undefined,
  }
}

function elementIn(random: Random): unknown {
  const many = random.once(60) ? 200 : 4
  return {
    type: random.once(4) ? undefined : nameIn(random, 'T'),
    isPattern: random.pick(['false', 'false', 'false', 'true', undefined, 'x']),
    id: nameIn(random, 'E'),
    attributes: random.once(8) ? undefined : random.list(many, () => attributeIn(random)),
  }
}

function update(random: Random): Draft {
  const actions = ['APPEND', 'APPEND', 'APPEND', 'UPDATE', 'DELETE', 'REPLACE', 'APPEND_STRICT', 'append', 'X'] as const
  const many = random.once(40) ? 300 : 3
  return {
    verb: 'POST',
    path: random.pick(['/v1/updateContext', '/v1/updateContext', '/ngsi10/updateContext']),
    body: { contextElements: random.list(many, () => elementIn(random)), updateAction: random.pick([...actions]) },
  }
}

function selectorIn(random: Random): unknown {
  const patterns = [
    '.*',
    'E',
    '^E[0-3]$',
    'E|F',
    '(a+)+$',
    '(.*)*x',
    '[',
    '\\',
    '(?=E)',
    '.{1000}',
    'é',
    '',
    '^',
    'E{2,1}',
  ] as const
  const isPattern = random.once(2)
  return {
    type: random.once(3) ? undefined : nameIn(random, 'T'),
    isPattern: isPattern ? 'true' : 'false',
    id: isPattern ? random.pick([...patterns]) : nameIn(random, 'E'),
  }
}

function scopeIn(random: Random): unknown {
  const number = random.pick(['0', '1', '-1', '90', '91', '1e9', 'x', ''])
  const points = random.list(5, () => ({ latitude: `${random.below(90)}`, longitude: number }))
  return random.pick([
    { type: 'FIWARE::Filter::Existence', value: 'entity::type' },
    { type: 'FIWARE::Filter::Not::Existence', value: 'entity::type' },
    { type: 'FIWARE::StringQuery', value: filterIn(random) },
    { type: 'FIWARE::StringQuery::Metadata', value: filterIn(random) },
    { type: 'FIWARE::Location', value: { circle: { centerLatitude: number, centerLongitude: '1', radius: number } } },
    { type: 'FIWARE::Location', value: { polygon: { vertices: points, inverted: random.pick(['true', 'x']) } } },
    { type: 'FIWARE::Location::NGSIv2', value: placeIn(random, number) },
    { type: nameIn(random, 'scope'), value: valueIn(random) },
  ])
}

function placeIn(random: Random, number: string): unknown {
  const pair = (): unknown =>
    random.pick<unknown>([[`${random.below(90)}`, number], [random.below(90), random.below(180)], number])
  return {
    georel: random.list(2, () => random.pick(['near', 'coveredBy', 'intersects', 'equals', `maxDistance:${number}`])),
    geometry: random.pick(['point', 'line', 'box', 'polygon', number]),
    coords: random.list(5, pair),
  }
}

function filterIn(random: Random): string {
  const operators = ['==', '!=', '<', '>=', '~=', ':', '=', ''] as const
  const statement = (): string => {
    const value = random.pick([
      '1',
      '1..5',
      "'a'",
      'a,b',
      'true',
      '2026-01-01',
      '(a+)+',
      '..',
      '[',
      '',
      'x'.repeat(100),
    ])
    return `${random.pick(['', '!', ''])}${random.pick(['a0', 'a1', 'a0.k1', "a0.'k'.x", '', 'é', 'a0..b'])}${random.pick([...operators])}${value}`
  }
  return random.list(random.once(20) ? 100 : 3, statement).join(random.pick([';', ';', '|', ';;']))
}

function query(random: Random): Draft {
  return {
    verb: 'POST',
    path: random.pick(['/v1/queryContext', '/v1/queryContext', '/ngsi10/queryContext']),
    body: {
      entities: random.list(random.once(40) ? 300 : 3, () => selectorIn(random)),
      attributes: random.once(2) ? random.list(3, () => nameIn(random, 'a')) : undefined,
      restriction: random.once(3) ? { scopes: random.list(3, () => scopeIn(random)) } : undefined,
    },
  }
}

function entityPath(random: Random): string {
  const base = random.pick(['/v1/contextEntities', '/v1/contextEntities', '/ngsi10/contextEntities'])
  const entity = random.once(2) ? segment(random, 'E') : `type/${segment(random, 'T')}/id/${segment(random, 'E')}`
  const attribute = segment(random, 'a')
  return `${base}/${entity}${random.pick(['', '', '/attributes', `/attributes/${attribute}`, `/attributes/${attribute}/${random.below(4)}`])}`
}

function entityRead(random: Random): Draft {
  return { verb: 'GET', path: random.once(8) ? '/v1/contextEntities' : entityPath(random) }
}

function entityWrite(random: Random): Draft {
  const verb = random.pick(['POST', 'PUT', 'DELETE'])
  const whole = {
    type: nameIn(random, 'T'),
    id: nameIn(random, 'E'),
    attributes: random.list(3, () => attributeIn(random)),
  }
  return {
    verb,
    path: entityPath(random),
    body: verb === 'DELETE' ? undefined : random.pick([whole, attributeIn(random)]),
  }
}

function typesRead(random: Random): Draft {
  const type = segment(random, 'T')
  const base = random.pick(['/v1/contextTypes', `/v1/contextTypes/${type}`, `/v1/contextEntityTypes/${type}`])
  return { verb: 'GET', path: random.once(3) ? `/v1/contextEntityTypes/${type}/attributes/a0` : base }
}

function conditionIn(random: Random): unknown {
  const condValues = random.list(3, () => nameIn(random, 'a'))
  return random.once(4)
    ? { type: 'ONTIMEINTERVAL', condValues: [random.pick(['PT1S', 'PT0S', 'x', 'P1Y'])] }
    : { type: 'ONCHANGE', condValues }
}

function durationIn(random: Random): string | undefined {
  return random.pick(['P1M', 'PT1S', 'P1Y', '', undefined, 'P', 'PT1.5S', 'P99999999999Y', '-PT1S', 'PT0S'])
}

function referenceIn(random: Random, { far }: Known): string {
  return random.once(3)
    ? random.pick([
        '',
        'x',
        'http://',
        'ftp://127.0.0.1/',
        'http://127.0.0.1:1/',
        'http://[::1]:99999/',
        'http://a b/',
        `http://u:p@127.0.0.1:1/${'x'.repeat(500)}`,
      ])
    : far
}

function subscribe(random: Random, known: Known): Draft {
  return {
    verb: 'POST',
    path: random.pick(['/v1/subscribeContext', '/v1/contextSubscriptions', '/ngsi10/subscribeContext']),
    body: {
      entities: random.list(3, () => selectorIn(random)),
      attributes: random.once(2) ? random.list(3, () => nameIn(random, 'a')) : undefined,
      reference: referenceIn(random, known),
      duration: durationIn(random),
      notifyConditions: random.list(2, () => conditionIn(random)),
      throttling: random.once(3) ? durationIn(random) : undefined,
      restriction: random.once(5) ? { scopes: random.list(2, () => scopeIn(random)) } : undefined,
    },
  }
}

function idIn(random: Random, ids: readonly string[]): string {
  return (random.once(5) ? undefined : random.any(ids)) ?? random.pick(['0123456789abcdef01234567', 'x', ''])
}

function subscriptionChange(random: Random, { subscriptions }: Known): Draft {
  const subscriptionId = idIn(random, subscriptions)
  const change = {
    subscriptionId,
    duration: durationIn(random),
    notifyConditions: random.list(2, () => conditionIn(random)),
    throttling: durationIn(random),
  }
  return random.pick<Draft>([
    { verb: 'POST', path: '/v1/updateContextSubscription', body: change },
    { verb: 'POST', path: '/v1/unsubscribeContext', body: { subscriptionId } },
    { verb: 'PUT', path: `/v1/contextSubscriptions/${subscriptionId}`, body: change },
    { verb: 'DELETE', path: `/v1/contextSubscriptions/${subscriptionId}` },
    { verb: 'GET', path: `/admin/subscriptions${random.once(2) ? '' : `/${subscriptionId}`}` },
  ])
}

function register(random: Random, known: Known): Draft {
  const attributes = random.list(3, () => ({
    name: nameIn(random, 'p'),
    type: 'U',
    isDomain: random.pick(['false', 'true', undefined]),
  }))
  const contextRegistrations = random.list(3, () => ({
    entities: random.list(3, () => ({
      type: nameIn(random, 'P'),
      isPattern: random.pick(['false', 'true']),
      id: nameIn(random, 'R'),
    })),
    attributes,
    providingApplication: referenceIn(random, known),
  }))
  const registrationId = random.once(4) ? idIn(random, known.registrations) : undefined
  return {
    verb: 'POST',
    path: '/v1/registry/registerContext',
    body: { contextRegistrations, duration: durationIn(random), registrationId },
  }
}

function discover(random: Random): Draft {
  if (random.once(3)) return { verb: 'GET', path: `/v1/registry/contextEntities/${segment(random, 'R')}` }
  const body = {
    entities: random.list(3, () => selectorIn(random)),
    attributes: random.list(2, () => nameIn(random, 'p')),
  }
  return { verb: 'POST', path: '/v1/registry/discoverContextAvailability', body }
}

function availability(random: Random, known: Known): Draft {
  const subscriptionId = idIn(random, known.availability)
  const entities = random.list(2, () => selectorIn(random))
  const request = {
    entities,
    attributes: random.list(2, () => nameIn(random, 'p')),
    reference: referenceIn(random, known),
    duration: durationIn(random),
  }
  return random.pick<Draft>([
    { verb: 'POST', path: '/v1/registry/subscribeContextAvailability', body: request },
    { verb: 'POST', path: '/v1/registry/updateContextAvailabilitySubscription', body: { ...request, subscriptionId } },
    { verb: 'POST', path: '/v1/registry/unsubscribeContextAvailability', body: { subscriptionId } },
    { verb: 'GET', path: '/admin/availabilitySubscriptions' },
  ])
}

function notify(random: Random): Draft {
  const contextResponses = random.list(3, () => ({
    contextElement: elementIn(random),
    statusCode: { code: '200', reasonPhrase: 'OK' },
  }))
  return { verb: 'POST', path: '/v1/notifyContext', body: { subscriptionId: 's', originator: 'o', contextResponses } }
}

function management(random: Random): Draft {
  const levels = random.pick(['1-5,7', '20-30', '', '256', 'x', '5-1', '1,,2'])
  return random.pick<Draft>([
    { verb: 'GET', path: '/version' },
    { verb: 'GET', path: '/statistics' },
    { verb: 'DELETE', path: '/statistics' },
    { verb: 'GET', path: '/metrics' },
    { verb: 'GET', path: '/admin/metrics' },
    { verb: 'GET', path: '/admin/waits' },
    { verb: 'GET', path: '/admin/sem' },
    { verb: 'GET', path: '/cache/statistics' },
    { verb: 'GET', path: '/health/ready' },
    { verb: 'GET', path: '/log/trace' },
    { verb: 'DELETE', path: '/log/trace' },
    { verb: 'PUT', path: `/log/trace/${levels}` },
    { verb: 'PUT', path: `/log/verbose/${random.below(7)}` },
    { verb: 'GET', path: '/admin/log' },
    { verb: 'PUT', path: `/admin/log?level=${random.pick(['WARN', 'ERROR', 'warn', 'x', ''])}` },
    {
      verb: 'PUT',
      path: `/admin/stats?semWait=${random.pick(['true', 'false', 'x'])}&timing=${random.pick(['true', 'false'])}`,
    },
    { verb: 'GET', path: '/v2/entities' },
    { verb: 'GET', path: '/nothing' },
  ])
}
