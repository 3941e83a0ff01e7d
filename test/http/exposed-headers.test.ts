import { test } from 'tap'
import { sourcesOf } from '../sources.js'
import { get, givenFrontEnd, headerOf } from './given.js'

/** Headers that a page of another origin gets without being told which [Fetch 3.3.5]. */
const alwaysReadable = ['Cache-Control', 'Content-Length', 'Content-Type']

/** Headers that the sources name and that pages may not read, by the reason. */
const notForPages = [
  ...['Access-Control-Allow-Headers', 'Access-Control-Allow-Methods', 'Access-Control-Allow-Origin'], // The browser reads
  ...['Access-Control-Expose-Headers', 'Access-Control-Max-Age'], // these itself.
  'X-Accel-Buffering', // for proxies
  ...['Retry-After', 'Rigel-Forwarding-Error', 'WWW-Authenticate'], // not in Orion's list, which is fixed [management 11.6]
  ...['Fiware-Service', 'Fiware-ServicePath', 'Rigel-Notification-Id', 'User-Agent', 'X-Auth-Token'], // of requests
]

/** Names with a hyphen, and those without one that responses have. */
const named = /'([A-Z][A-Za-z0-9]*(?:-[A-Z][A-Za-z0-9]*)+)'|\bheaders: \{ ([A-Z][a-z]+): /g

test('pages of other origins may read the headers that Orion exposes, and every other header has its reason', async (t) => {
  const { talk } = await givenFrontEnd(t, { corsOrigin: '__ALL' })
  const response = await talk(get('/v1/echo/a', 'Origin: https://panel.example'))
  const exposed = headerOf(response, 'Access-Control-Expose-Headers')?.split(', ') ?? []
  const sources = sourcesOf('src/api/ngsi1', 'src/api/ngsi2', 'src/broker', 'src/http')
  const found = new Set(sources.flatMap(({ code }) => [...code.matchAll(named)].map(([, one, other]) => one ?? other)))
  t.ok(found.size > 15, `${found.size} names are found`)
  const known = new Set([...alwaysReadable, ...notForPages, ...exposed])
  t.same(
    [...found].filter((name) => name === undefined || !known.has(name)),
    [],
    'a new header is listed here, with the reason why pages may not read it',
  )
  t.same(
    exposed.filter((name) => !found.has(name)),
    [],
    'no name is exposed that no response has',
  )
})
