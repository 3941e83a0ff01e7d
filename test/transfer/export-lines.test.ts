import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { exportSource, lineOf } from '../../src/data/transfer/export-lines.js'
import { InputFile } from '../../src/data/transfer/input-file.js'
import type { Milliseconds } from '../../src/time.js'
import { exportOf } from './given-command.js'
import { exportedLine } from './given-lines.js'

const imported = Date.UTC(2026, 4, 6) as Milliseconds

/** For each of these lines as it is written after it was read, or why it is refused. */
async function readAgain(t: Test, lines: readonly object[]): Promise<readonly string[]> {
  const file = join(t.testdir(), 'lines.jsonl')
  writeFileSync(file, exportOf(lines))
  const read: string[] = []
  for await (const piece of exportSource(new InputFile(file), imported).pieces) {
    for (const sourced of piece) read.push(sourced.kind === 'item' ? lineOf(sourced.item) : sourced.reason)
  }
  return read.slice(0, lines.length)
}

/** A line, and what `readAgain` gives for it. */
type Case = readonly [line: object, read: string]

async function sameOf(t: Test, cases: readonly Case[]): Promise<void> {
  const lines = cases.map(([line]) => line)
  t.strictSame(
    await readAgain(t, lines),
    cases.map(([, read]) => read),
  )
}

test('a file that holds hardly anything but empty lines is not read to its end', async (t) => {
  const file = join(t.testdir(), 'lines.jsonl')
  const read = async (text: string) => {
    writeFileSync(file, text)
    const reasons: (readonly [where: string, reason: string])[] = []
    for await (const piece of exportSource(new InputFile(file), imported).pieces) {
      for (const sourced of piece) if (sourced.kind === 'wrong') reasons.push([sourced.where, sourced.reason])
    }
    return reasons
  }
  t.same(await read('\n'.repeat(1_000_000) + exportOf([])), [])
  const [fault] = await read('\r\n'.repeat(10) + '\n'.repeat(999_991) + exportOf([]))
  t.match(fault, [/^line 1\d{6}$/, 'more than 1000000 lines before it are empty'])
})

test('what was written is read, and written again as the same bytes', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(exportedLine, { minLength: 20, maxLength: 20 }), async (lines) => {
      const again = await readAgain(t, lines)
      t.strictSame(
        again,
        lines.map((each) => JSON.stringify(each)),
      )
      return t.passing()
    }),
    { seed: 39, numRuns: 8 },
  )
})

const room = { kind: 'entity', id: 'Room1' }
const hexId = '0123456789abcdef01234567'
const listening = { kind: 'subscription', id: hexId, url: 'sse:' }
const shown = { format: 'normalized', target: { kind: 'http' } }
const given = { kind: 'registration', id: hexId, contexts: [{ provider: 'http://p' }] }
const heard = { kind: 'availability', id: hexId, url: 'http://127.0.0.1:9/' }

test('members may be left out, and dates be milliseconds', async (t) => {
  const usual = '"created":"2026-05-06T00:00:00.000Z","modified":"2026-05-06T00:00:00.000Z"'
  const cases: readonly Case[] = [
    [room, `{"kind":"entity","servicePath":"/","id":"Room1","type":"",${usual},"attributes":[]}`],
    [
      {
        ...room,
        created: 0,
        attributes: [{ name: 'b' }, { name: 'a', created: 1, location: false, metadata: [{ name: 'm' }] }],
      },
      '{"kind":"entity","servicePath":"/","id":"Room1","type":"","created":"1970-01-01T00:00:00.000Z","modified":"1970-01-01T00:00:00.000Z","attributes":[{"name":"a","type":"","value":null,"metadata":[{"name":"m","type":"","value":null}],"created":"1970-01-01T00:00:00.001Z"},{"name":"b","type":"","value":null}]}',
    ],
    [
      listening,
      '{"kind":"subscription","servicePath":"/","id":"0123456789abcdef01234567","entities":[],"attributes":[],"url":"sse:","throttling_ms":0}',
    ],
    [
      { ...listening, id: hexId.toUpperCase(), terms: { notification: shown }, delivery: {} },
      '{"kind":"subscription","servicePath":"/","id":"0123456789abcdef01234567","entities":[],"attributes":[],"url":"sse:","throttling_ms":0,"terms":{"status":"active","notification":{"target":{"kind":"http","timeout_ms":0},"format":"normalized","excepts":false,"metadata":[],"onlyChanged":false,"covered":false}},"delivery":{"sent":0,"discarded":0,"fails":0}}',
    ],
    [
      { ...listening, terms: { notification: shown, condition: { expression: {} }, armed: 5 } },
      '{"kind":"subscription","servicePath":"/","id":"0123456789abcdef01234567","entities":[],"attributes":[],"url":"sse:","throttling_ms":0,"terms":{"status":"active","armed":"1970-01-01T00:00:00.005Z","condition":{"alterations":[],"onMetadata":false,"expression":{}},"notification":{"target":{"kind":"http","timeout_ms":0},"format":"normalized","excepts":false,"metadata":[],"onlyChanged":false,"covered":false}}}',
    ],
    [
      given,
      '{"kind":"registration","servicePath":"/","id":"0123456789abcdef01234567","contexts":[{"entities":[],"attributes":[],"provider":"http://p"}]}',
    ],
    [
      { ...given, terms: {}, contexts: [{ provider: '', entities: [{ id: '' }], attributes: [{ name: 'a' }] }] },
      '{"kind":"registration","servicePath":"/","id":"0123456789abcdef01234567","contexts":[{"entities":[{"id":""}],"attributes":[{"name":"a"}],"provider":""}],"terms":{"description":"","status":"active","mode":"all","legacy":false}}',
    ],
    [
      heard,
      '{"kind":"availability","id":"0123456789abcdef01234567","entities":[],"attributes":[],"url":"http://127.0.0.1:9/"}',
    ],
  ]
  await sameOf(t, cases)
})

test('what is unknown, missing or wrong is refused by its name', async (t) => {
  const attribute = (members: object): object => ({ ...room, attributes: [{ name: 'a', ...members }] })
  const termed = (members: object): object => ({ ...listening, terms: { notification: shown, ...members } })
  const notified = (members: object): object => termed({ notification: { ...shown, ...members } })
  const conditioned = (members: object): object => termed({ condition: { ...members } })
  const context = (members: object): object => ({ ...given, contexts: [{ provider: '', ...members }] })
  const cases: readonly Case[] = [
    [{ kind: 'thing' }, 'kind is none of header, end, entity, subscription, registration, availability'],
    [{ kind: 'header', format: 'x' }, 'it is no export of Rigel: format is x'],
    [
      { kind: 'header', format: 'rigel-export', version: 2 },
      'it has version 2, this program reads up to 1: use the version of Rigel that wrote it',
    ],
    [{ kind: 'header', format: 'rigel-export', version: 1, more: 1 }, 'more means nothing here'],
    [{ kind: 'end', counts: { entity: -1 } }, 'counts.entity is below 0'],
    [{ kind: 'end', counts: [] }, 'counts is not an object'],
    [{ ...room, colour: 1 }, 'colour means nothing here'],
    [{ kind: 'entity' }, 'id is missing'],
    [{ ...room, id: 1 }, 'id is not a string'],
    [{ ...room, id: '' }, 'id is empty'],
    [{ ...room, id: 'x'.repeat(257) }, 'id is 257 bytes long, 256 are allowed'],
    [{ ...room, id: 'a\ud800' }, 'id holds half a surrogate pair'],
    [{ ...room, type: 'a(b' }, `type holds one of the characters < > " ' = ; ( )`],
    [{ ...room, tenant: 'A' }, 'tenant is not the name of one: up to 50 lower-case letters, digits and underscores'],
    [{ ...room, tenant: 3 }, 'tenant is not a string'],
    [
      { ...room, servicePath: 'a' },
      'servicePath: Only /absolute/ Service Paths allowed [a service path must begin with /]',
    ],
    [{ ...room, servicePath: '/a,/b' }, 'servicePath is not one path'],
    [{ ...room, servicePath: '/#' }, 'servicePath has a wildcard'],
    [{ ...room, created: 'today' }, 'created is not a date'],
    [{ ...room, modified: 1.5 }, 'modified is not a date'],
    [{ ...room, correlator: 1 }, 'correlator is not a string'],
    [{ ...room, attributes: {} }, 'attributes is not an array'],
    [{ ...room, attributes: [1] }, 'attributes[0] is not an object'],
    [{ ...room, attributes: [{}] }, 'attributes[0].name is missing'],
    [attribute({ name: '' }), 'attributes[0].name is empty'],
    [attribute({ unit: 'm' }), 'attributes[0].unit means nothing here'],
    [attribute({ type: '<' }), `attributes[0].type holds one of the characters < > " ' = ; ( )`],
    [attribute({ instance: 1 }), 'attributes[0].instance is not a string'],
    [attribute({ location: 'yes' }), 'attributes[0].location is not a boolean'],
    [attribute({ location: true }), 'attribute a is the location but its value is none of its type'],
    [attribute({ created: true }), 'attributes[0].created is not a date'],
    [attribute({ metadata: 1 }), 'attributes[0].metadata is not an array'],
    [attribute({ metadata: [{ name: 'm', kind: 1 }] }), 'attributes[0].metadata[0].kind means nothing here'],
    [attribute({ metadata: [{ type: 'm' }] }), 'attributes[0].metadata[0].name is missing'],
    [
      attribute({ metadata: [{ name: 'm', type: '=' }] }),
      `attributes[0].metadata[0].type holds one of the characters < > " ' = ; ( )`,
    ],
    [attribute({ metadata: [{ name: 'm' }, { name: 'm' }] }), 'metadata m of attribute a is there twice'],
    [attribute({ value: ['a\ud800'] }), 'attributes[0].value holds half a surrogate pair'],
    [{ ...room, attributes: [{ name: 'a' }, { name: 'a' }] }, 'attribute a is there twice'],
    [{ ...listening, colour: 1 }, 'colour means nothing here'],
    [{ ...listening, id: 'abc' }, 'id: bad length - 24 chars expected'],
    [{ ...listening, id: hexId.replace('0', 'x') }, 'id: invalid char in ID string'],
    [{ ...listening, url: undefined }, 'url is missing'],
    [{ ...listening, url: 'nowhere' }, 'url is no URL of http or https: nowhere'],
    [{ ...listening, servicePath: '//' }, 'servicePath: empty component in ServicePath'],
    [{ ...listening, entities: [{ id: 'a', idPattern: 'b' }] }, 'entities[0].id and idPattern are both there'],
    [
      { ...listening, entities: [{ idPattern: '(' }] },
      'entities[0].idPattern is no regular expression, or too large: (',
    ],
    [
      { ...listening, entities: [{ typePattern: '(' }] },
      'entities[0].typePattern is no regular expression, or too large: (',
    ],
    [{ ...listening, entities: [{ id: '<' }] }, `entities[0].id holds one of the characters < > " ' = ; ( )`],
    [{ ...listening, entities: [{ type: ';' }] }, `entities[0].type holds one of the characters < > " ' = ; ( )`],
    [{ ...listening, entities: [{ isPattern: true }] }, 'entities[0].isPattern means nothing here'],
    [{ ...listening, attributes: [1] }, 'attributes[0] is not a string'],
    [{ ...listening, expires: [] }, 'expires is not a date'],
    [{ ...listening, throttling_ms: -1 }, 'throttling_ms is below 0'],
    [{ ...listening, throttling_ms: '1' }, 'throttling_ms is not a number'],
    [{ ...listening, onChange: 'a' }, 'onChange is not an array'],
    [{ ...listening, interval_ms: 0 }, 'interval_ms is below 1'],
    [{ ...listening, scopes: [{ kind: 'place' }] }, 'scopes[0].kind is none of typed, untyped, area'],
    [{ ...listening, scopes: [{ kind: 'typed', more: 1 }] }, 'scopes[0].more means nothing here'],
    [{ ...listening, scopes: [{ kind: 'area', area: 1 }] }, 'scopes[0].area is none: shapeUnknown'],
    [{ ...listening, ticked: 'x' }, 'ticked is not a date'],
    [{ ...listening, delivery: 1 }, 'delivery is not an object'],
    [{ ...listening, delivery: { tried: [] } }, 'delivery.tried means nothing here'],
    [{ ...listening, delivery: { sent: -1 } }, 'delivery.sent is below 0'],
    [{ ...listening, delivery: { lastSuccessCode: 'ok' } }, 'delivery.lastSuccessCode is not a number'],
    [{ ...listening, delivery: { lastFailure: 'x' } }, 'delivery.lastFailure is not a date'],
    [{ ...listening, delivery: { lastFailureReason: 4 } }, 'delivery.lastFailureReason is not a string'],
    [{ ...listening, terms: [] }, 'terms is not an object'],
    [{ ...listening, terms: {} }, 'terms.notification is not an object'],
    [termed({ more: 1 }), 'terms.more means nothing here'],
    [termed({ description: 1 }), 'terms.description is not a string'],
    [termed({ status: 'failed' }), 'terms.status is none of active, inactive, oneshot'],
    [termed({ armed: '' }), 'terms.armed is not a date'],
    [termed({ maxFails: 0 }), 'terms.maxFails is below 1'],
    [conditioned({ q: 1 }), 'terms.condition.q means nothing here'],
    [
      conditioned({ alterations: ['x'] }),
      'terms.condition.alterations[0] is none of entityCreate, entityChange, entityUpdate, entityDelete',
    ],
    [conditioned({ onMetadata: 1 }), 'terms.condition.onMetadata is not a boolean'],
    [conditioned({ expression: { q: '' } }), 'q is empty'],
    [conditioned({ jexl: 1 }), 'terms.condition.jexl is not a string'],
    [notified({ more: 1 }), 'terms.notification.more means nothing here'],
    [
      notified({ format: undefined }),
      'terms.notification.format is none of normalized, simplifiedNormalized, keyValues, simplifiedKeyValues, values, legacy',
    ],
    [notified({ excepts: 1 }), 'terms.notification.excepts is not a boolean'],
    [notified({ metadata: [1] }), 'terms.notification.metadata[0] is not a string'],
    [notified({ onlyChanged: 1 }), 'terms.notification.onlyChanged is not a boolean'],
    [notified({ covered: 1 }), 'terms.notification.covered is not a boolean'],
    [notified({ target: undefined }), 'terms.notification.target is missing'],
    [notified({ target: { kind: 'kafka' } }), 'terms.notification.target.kind is neither http nor mqtt'],
    [notified({ target: { kind: 'mqtt', topic: 'a' } }), 'invalid mqtt /url/'],
    [notified({ target: { kind: 'http', timeout_ms: -1 } }), 'timeout field must be an integer between 0 and 1800000'],
    [notified({ target: { kind: 'http', custom: 1 } }), 'terms.notification.target.custom is not an object'],
    [notified({ target: { kind: 'http', custom: { method: 'GO' } } }), 'unknown method httpCustom notification'],
    [
      { ...listening, terms: { notification: shown }, url: 'mqtt://127.0.0.1:9' },
      'url is no URL of http or https: mqtt://127.0.0.1:9',
    ],
    [{ ...given, colour: 1 }, 'colour means nothing here'],
    [{ ...given, id: undefined }, 'id is missing'],
    [{ ...given, contexts: [] }, 'contexts is empty'],
    [{ ...given, servicePath: '/a/#' }, 'servicePath has a wildcard'],
    [{ ...given, copiedFrom: 1 }, 'copiedFrom is not a string'],
    [{ ...given, terms: { mode: 'some' } }, 'terms.mode is none of all, none, query, update'],
    [{ ...given, terms: { status: 'oneshot' } }, 'terms.status is none of active, inactive'],
    [{ ...given, terms: { legacy: 1 } }, 'terms.legacy is not a boolean'],
    [{ ...given, terms: { more: 1 } }, 'terms.more means nothing here'],
    [context({ provider: 1 }), 'contexts[0].provider is not a string'],
    [context({ ordinal: -1 }), 'contexts[0].ordinal is below 0'],
    [context({ more: 1 }), 'contexts[0].more means nothing here'],
    [context({ entities: [{ id: 1 }] }), 'contexts[0].entities[0].id is not a string'],
    [context({ entities: [{ id: 'a', everyId: 1 }] }), 'contexts[0].entities[0].everyId is not a boolean'],
    [context({ entities: [{ id: 'a', isPattern: 1 }] }), 'contexts[0].entities[0].isPattern means nothing here'],
    [context({ attributes: [{}] }), 'contexts[0].attributes[0].name is missing'],
    [context({ attributes: [{ name: 'a', isDomain: 1 }] }), 'contexts[0].attributes[0].isDomain is not a boolean'],
    [context({ attributes: [{ name: 'a', domain: 1 }] }), 'contexts[0].attributes[0].domain means nothing here'],
    [{ ...heard, servicePath: '/' }, 'servicePath means nothing here'],
    [{ ...heard, url: 'sse:' }, 'url is no URL of http or https: sse:'],
    [{ ...heard, entities: 1 }, 'entities is not an array'],
    [{ ...heard, attributes: 'a' }, 'attributes is not an array'],
  ]
  await sameOf(t, cases)
})

test('a password that is only hidden, or missing, is not imported, nor is its user; this is said', async (t) => {
  const target = { kind: 'mqtt', topic: 'a', user: 'me' }
  const of = (more: object) => ({
    ...listening,
    url: 'mqtt://127.0.0.1:9',
    terms: { notification: { ...shown, target: { ...target, ...more } } },
  })
  const file = join(t.testdir(), 'lines.jsonl')
  writeFileSync(file, exportOf([of({ passwd: '*****' }), of({}), of({ passwd: 'x' })]))
  const read: unknown[] = []
  for await (const piece of exportSource(new InputFile(file), imported).pieces) {
    for (const sourced of piece) {
      if (sourced.kind !== 'item' || sourced.item.kind !== 'subscription') throw new Error('it is a subscription')
      read.push([sourced.item.subscription.terms?.notification.target, sourced.losses])
    }
  }
  const loss = { kind: 'leftOut', what: 'the user me of MQTT, whose password the export does not have' }
  t.match(read, [
    [{ user: undefined, passwd: undefined }, [loss]],
    [{ user: undefined, passwd: undefined }, [loss]],
    [{ user: 'me', passwd: 'x' }, []],
  ])
})
