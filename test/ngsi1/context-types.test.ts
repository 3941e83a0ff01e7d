import { test } from 'tap'
import type { TypeSummary } from '../../src/broker/front-end/broker.js'
import type { EntityType } from '../../src/model/context/entity.js'
import { ok } from '../../src/result.js'
import { scripted, send } from './given.js'

const okStatus = { code: '200', reasonPhrase: 'OK' }
const notFound = { code: '404', reasonPhrase: 'No context element found' }

function summary(type: string, ...attributes: readonly string[]): TypeSummary {
  return { type: type as EntityType, entities: 1, attributes }
}

async function bodyOf(target: string, ...types: readonly TypeSummary[]): Promise<unknown> {
  return (await send(scripted({ types: async () => ok(types) }), 'GET', target)).body
}

const types = [summary('Barn', 'humidity', 'light'), summary('Hangar'), summary('', 'level')]

test('types are listed with the names of their attributes, if there are any', async (t) => {
  const list = [
    { name: 'Barn', attributes: ['humidity', 'light'] },
    { name: 'Hangar' },
    { name: '', attributes: ['level'] },
  ]
  t.same(await bodyOf('contextTypes', ...types), { types: list, statusCode: okStatus })
  t.same(await bodyOf('contextTypes?limit=1&offset=1&details=on', ...types), {
    types: list.slice(1, 2),
    statusCode: { ...okStatus, details: 'Count: 3' },
  })
  t.same(await bodyOf('contextTypes?collapse=true', ...types), {
    types: list.map(({ name }) => ({ name })),
    statusCode: okStatus,
  })
})

test('without types, or past the last, the list is 404', async (t) => {
  t.same(await bodyOf('contextTypes?details=on'), { statusCode: notFound })
  t.same(await bodyOf('contextTypes?offset=3', ...types), { statusCode: notFound })
  t.same(await bodyOf('contextTypes?offset=3&details=on', ...types), {
    statusCode: { ...notFound, details: 'Number of types: 3. Offset is 3' },
  })
})

test('one type is shown with its attributes, in pages', async (t) => {
  t.same(await bodyOf('contextTypes/Barn', ...types), {
    name: 'Barn',
    attributes: ['humidity', 'light'],
    statusCode: okStatus,
  })
  t.same(await bodyOf('contextTypes/Barn?limit=1&offset=1&details=on&collapse=true', ...types), {
    name: 'Barn',
    attributes: ['light'],
    statusCode: { ...okStatus, details: 'Count: 2' },
  })
  t.same(await bodyOf('contextTypes/Barn?offset=2&details=on', ...types), {
    name: 'Barn',
    statusCode: { ...notFound, details: 'Number of attributes: 2. Offset is 2' },
  })
})

test('a type without entities or attributes is 404 with its name', async (t) => {
  t.same(await bodyOf('contextTypes/Hangar?details=on', ...types), { name: 'Hangar', statusCode: notFound })
  t.same(await bodyOf('contextTypes/Silo', ...types), { name: 'Silo', statusCode: notFound })
})
