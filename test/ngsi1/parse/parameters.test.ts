import { test } from 'tap'
import {
  checkParameters,
  requestedExistence,
  requestedPage,
  requestedType,
  requestsObject,
} from '../../../src/api/ngsi1/parse/parameters.js'

function parameters(query: string): ReadonlyMap<string, string> {
  return new Map(new URLSearchParams(query))
}

function wrong(query: string): string | undefined {
  const response = checkParameters(parameters(query))
  if (response === undefined) return undefined
  return `${response.status} ${JSON.parse(String(response.body)).orionError.details}`
}

test('parameters that break their rules are 400', async (t) => {
  t.equal(wrong('limit=ten'), '400 Bad pagination limit: /ten/ [must be a decimal number]')
  t.equal(wrong('limit=-1'), '400 Bad pagination limit: /-1/ [must be a decimal number]')
  t.equal(wrong('limit=0'), '400 Bad pagination limit: /0/ [a value of ZERO is unacceptable]')
  t.equal(wrong('limit=00'), '400 Bad pagination limit: /00/ [a value of ZERO is unacceptable]')
  t.equal(wrong('limit=1001'), '400 Bad pagination limit: /1001/ [max: 1000]')
  t.equal(wrong('offset=1.5'), '400 Bad pagination offset: /1.5/ [must be a decimal number]')
  t.equal(wrong(`orderBy=${Array(21).fill('level').join()}`), '400 Bad value for /orderBy/: too many names [max: 20]')
  t.equal(wrong(`orderBy=${Array(20).fill('level').join()}`), undefined)
  t.equal(
    wrong('details=yes'),
    '400 Bad value for /details/: /yes/ [accepted: /on/, /ON/, /off/, /OFF/. Default is /off/]',
  )
})

test('good parameters, empty ones and unknown ones pass', async (t) => {
  t.equal(wrong('limit=1000&offset=0&details=oFf'), undefined)
  t.equal(wrong('limit=&offset=&details=&colour=red'), undefined)
})

test('a page has 20 results from the first on unless something else is asked for', async (t) => {
  t.same(requestedPage(parameters('')), { offset: 0, limit: 20, counted: false })
  t.same(requestedPage(parameters('limit=5&offset=7&details=On')), { offset: 7, limit: 5, counted: true })
  t.equal(requestedPage(parameters(`offset=${'9'.repeat(400)}`)).offset, Number.MAX_SAFE_INTEGER)
})

test('exist and !exist speak of the type only', async (t) => {
  t.same(requestedExistence(parameters('exist=entity::type&!exist=entity::type')), [
    { kind: 'typed' },
    { kind: 'untyped' },
  ])
  t.same(requestedExistence(parameters('exist=colour&!exist=')), [])
})

test('the parameters of type and format', async (t) => {
  t.equal(requestedType(parameters('entity::type=Silo')), 'Silo')
  t.equal(requestedType(parameters('entity::type=')), undefined)
  t.equal(requestsObject(parameters('attributesFormat=object')), true)
  t.equal(requestsObject(parameters('attributeFormat=object')), true)
  t.equal(requestsObject(parameters('attributesFormat=list')), false)
})
