const json = { 'content-type': 'application/json' }

async function sent(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
  const text = await response.clone().text()
  if (!response.ok || text.includes('errorCode')) throw new Error(`${url}: ${response.status} ${text}`)
  return response
}

/** Writes of everything that a folder can hold, through both interfaces. */
export async function fill(url: string): Promise<void> {
  const trees = { 'fiware-service': 'trees', 'fiware-servicepath': '/parks/north' }
  await sent(`${url}/v2/entities`, {
    id: 'Room1',
    type: 'Room',
    temperature: {
      value: 21.5,
      metadata: { accuracy: { value: 0.1, type: 'Number' }, note: { value: { a: [1, null] } } },
    },
    open: { value: true },
    nothing: { value: null },
    plan: { value: { floors: [{ 'a.b': 'ünïcødé 😀' }, [], {}] } },
    seen: { type: 'DateTime', value: '2026-03-04T05:06:07.089Z' },
    dateExpires: { type: 'DateTime', value: '2031-01-01T00:00:00Z' },
    position: { type: 'geo:json', value: { type: 'Point', coordinates: [-3.7, 40.4] } },
  })
  await sent(`${url}/v2/entities`, { id: 'Untyped' })
  await sent(`${url}/v2/entities?options=keyValues`, { id: 'Oak', type: 'Tree', height: 12 }, trees)
  await sent(`${url}/v1/updateContext`, {
    updateAction: 'APPEND',
    contextElements: [
      {
        id: 'Silo7',
        type: '',
        isPattern: 'false',
        attributes: [
          { name: 'level', type: 'cm', value: '3', metadatas: [{ name: 'ID', type: 'Text', value: 'low' }] },
          { name: 'level', type: 'cm', value: '9', metadatas: [{ name: 'ID', type: 'Text', value: 'high' }] },
          {
            name: 'place',
            type: 'coords',
            value: '40.4, -3.7',
            metadatas: [{ name: 'location', type: 'string', value: 'WGS84' }],
          },
        ],
      },
    ],
  })
  await fetch(`${url}/v2/entities/Oak/attrs`, {
    method: 'POST',
    headers: { ...json, ...trees },
    body: JSON.stringify({ height: { value: 13 } }),
  })
  await subscribe(url, trees)
}

async function subscribe(url: string, trees: Record<string, string>): Promise<void> {
  const http = { http: { url: 'sse:' } }
  const room = { entities: [{ idPattern: '^Room', type: 'Room' }] }
  await sent(`${url}/v2/subscriptions`, {
    description: 'warm rooms',
    subject: {
      ...room,
      condition: {
        attrs: ['temperature'],
        expression: { q: 'temperature>20', georel: 'near;maxDistance:100', geometry: 'point', coords: '40.4,-3.7' },
      },
    },
    notification: { ...http, attrs: ['temperature'], attrsFormat: 'keyValues', onlyChangedAttrs: true },
    throttling: 5,
    expires: '2032-02-03T04:05:06.007Z',
  })
  await sent(
    `${url}/v2/subscriptions`,
    {
      subject: {
        entities: [{ idPattern: '.*', typePattern: 'T.*' }],
        condition: { alterationTypes: ['entityDelete'] },
      },
      notification: {
        httpCustom: {
          url: 'http://127.0.0.1:9/${id}',
          method: 'PUT',
          headers: { 'x-a': 'b' },
          qs: { type: '${type}' },
          json: { it: ['${id}'] },
        },
        exceptAttrs: ['height'],
        metadata: ['dateCreated'],
      },
      status: 'inactive',
    },
    { ...trees, 'fiware-servicepath': '/parks/#' },
  )
  await sent(`${url}/v2/subscriptions`, {
    subject: room,
    notification: {
      mqtt: { url: 'mqtt://127.0.0.1:9', topic: 'a/b', qos: 1, user: 'me', passwd: 'pass' },
      maxFailsLimit: 3,
    },
    status: 'oneshot',
  })
  await sent(`${url}/v1/subscribeContext`, {
    entities: [{ id: 'Silo.*', isPattern: 'true' }],
    attributes: ['level'],
    reference: 'sse:',
    duration: 'P1M',
    throttling: 'PT3S',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
    restriction: {
      scopes: [
        {
          type: 'FIWARE::Location',
          value: { circle: { centerLatitude: '40', centerLongitude: '-3', radius: '1000', inverted: 'true' } },
        },
      ],
    },
  })
  await sent(`${url}/v1/registry/registerContext`, {
    contextRegistrations: [
      {
        entities: [{ id: 'Far', type: 'Room', isPattern: 'false' }],
        attributes: [{ name: 'pressure', type: 'bar', isDomain: 'false' }],
        providingApplication: 'http://127.0.0.1:9/provider',
      },
    ],
    duration: 'P1Y',
  })
  await sent(`${url}/v2/registrations`, {
    description: 'all of them',
    dataProvided: { entities: [{ idPattern: '.*', type: 'Car' }], attrs: ['speed'] },
    provider: { http: { url: 'http://127.0.0.1:9/v2' }, supportedForwardingMode: 'query' },
  })
  await sent(`${url}/v1/registry/subscribeContextAvailability`, {
    entities: [{ id: '.*', type: 'Room', isPattern: 'true' }],
    attributes: ['pressure'],
    reference: 'http://127.0.0.1:9/availability',
    duration: 'P1M',
  })
}
