import { type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  type Client,
  echo,
  errorCode,
  ID,
  item,
  metadata,
  offending,
  ok,
  responses,
  shown,
  status,
  tenantClient,
  WGS84,
} from './client.js'

const broker = await RunningBroker.shared()

const level = attribute('level', 'percent', '64')
const light = attribute('light', 'lux', '3')

type Meant = readonly [
  rule: string,
  action: string,
  elements: readonly unknown[],
  response: unknown,
  held?: unknown,
  search?: string,
]

/** Makes the entities anew for each row, updates, and compares the response and what Silo1 is afterwards. */
async function updates(t: Test, before: readonly unknown[], rows: readonly Meant[]): Promise<void> {
  for (const [rule, action, elements, response, held, search] of rows) {
    const client: Client = tenantClient(broker)
    if (before.length > 0) await client.given(...before)
    t.strictSame(await client.update(action, elements, search), response, `${rule}: response`)
    if (held !== undefined) t.strictSame(await client.held('Silo1'), held, `${rule}: state`)
  }
}

const silo = (...attributes: readonly unknown[]) => ({ type: 'Silo', id: 'Silo1', attributes })
const unknown = errorCode(404)

/** Silo1 as a response shows it. */
const shownSilo = (...attributes: readonly unknown[]) => shown('Silo1', 'Silo', ...attributes)

/** The response to what was done to Silo1. */
const done = (...attributes: readonly unknown[]) => responses(item(shownSilo(...attributes)))

test('each action does to an entity found what its row says [context 6.2]', async (t) => {
  await updates(
    t,
    [silo(level)],
    [
      [
        'APPEND updates and creates',
        'APPEND',
        [silo(attribute('level', '', '65'), light)],
        done(echo('level', ''), echo('light', 'lux')),
        [shownSilo(attribute('level', 'percent', '65'), light)],
      ],
      [
        'the action is read in any case of letters',
        'aPPend',
        [silo(light)],
        done(echo('light', 'lux')),
        [shownSilo(level, light)],
      ],
      [
        'APPEND_STRICT creates what does not exist',
        'append_strict',
        [silo(light)],
        done(echo('light', 'lux')),
        [shownSilo(level, light)],
      ],
      [
        'APPEND_STRICT leaves alone what exists',
        'APPEND_STRICT',
        [silo(attribute('level', 'percent', '1'))],
        responses(
          item(shownSilo(), status(400, 'one or more of the attributes in the request already exist: [ level ]')),
        ),
        [shownSilo(level)],
      ],
      [
        'APPEND_STRICT reports what exists after what was created',
        'APPEND_STRICT',
        [silo(attribute('level', 'percent', '1'), light)],
        responses(
          item(shownSilo(echo('light', 'lux'))),
          item(shownSilo(), status(400, 'one or more of the attributes in the request already exist: [ level ]')),
        ),
        [shownSilo(level, light)],
      ],
      [
        'UPDATE updates',
        'UPDATE',
        [silo(attribute('level', '', '66'))],
        done(echo('level', '')),
        [shownSilo(attribute('level', 'percent', '66'))],
      ],
      ['REPLACE removes the others', 'REPLACE', [silo(light)], done(echo('light', 'lux')), [shownSilo(light)]],
      ['REPLACE without attributes leaves none', 'REPLACE', [silo()], done(), [shownSilo()]],
      [
        'REPLACE does not merge',
        'REPLACE',
        [silo(attribute('level', '', '1'))],
        done(echo('level', '')),
        [shownSilo(attribute('level', '', '1'))],
      ],
      [
        'DELETE of the last attribute leaves the entity',
        'DELETE',
        [silo({ name: 'level' })],
        done(echo('level', '')),
        [shownSilo()],
      ],
      [
        'DELETE takes an empty value',
        'DELETE',
        [silo({ name: 'level', value: '' })],
        done(echo('level', '')),
        [shownSilo()],
      ],
      [
        'DELETE ignores type and metadata',
        'DELETE',
        [silo(attribute('level', 'geo:point', 'x', metadata('location', 'string', 'MARS'), metadata('a', 'b', 'c')))],
        done(echo('level', 'geo:point', metadata('a', 'b', 'c'))),
        [shownSilo()],
      ],
      ['DELETE without attributes removes the entity', 'DELETE', [silo()], done(), unknown],
      ['UPDATE without attributes does nothing', 'UPDATE', [silo()], done(), [shownSilo(level)]],
      ['APPEND without attributes does nothing', 'APPEND', [{ type: 'Silo', id: 'Silo1' }], done(), [shownSilo(level)]],
      [
        'APPEND_STRICT without attributes does nothing',
        'APPEND_STRICT',
        [{ type: 'Silo', id: 'Silo1' }],
        done(),
        [shownSilo(level)],
      ],
    ],
  )
})

test('an element without an entity creates one under APPEND alone [context 6.2]', async (t) => {
  await updates(
    t,
    [],
    [
      ['APPEND creates', 'APPEND', [silo(level)], done(echo('level', 'percent')), [shownSilo(level)]],
      [
        'APPEND_STRICT creates',
        'APPEND_STRICT',
        [{ id: 'Silo1' }],
        responses(item(shown('Silo1', ''))),
        [shown('Silo1', '')],
      ],
      ...['UPDATE', 'REPLACE', 'DELETE'].map(
        (action): Meant => [
          `${action} does not`,
          action,
          [silo(level)],
          responses(item(shownSilo(echo('level', 'percent')), status(404, 'Silo1'))),
          unknown,
        ],
      ),
    ],
  )
})

test('without a type every entity of the id is meant, oldest first [context 6.2]', async (t) => {
  const was = [shown('Silo1', '', level), shown('Silo1', 'B', level), shown('Silo1', 'A')]
  const missing = offending('UPDATE', '[Silo1, A]', 'level')
  const now = attribute('level', 'percent', '7')
  const client = tenantClient(broker)
  // Were there another one already, an element without a type would mean that.
  await client.given(
    { id: 'Silo1', attributes: [level] },
    { id: 'Silo1', type: 'B', attributes: [level] },
    { id: 'Silo1', type: 'A' },
  )
  t.strictSame(await client.held('Silo1'), was)
  t.strictSame(
    await client.update('UPDATE', [{ id: 'Silo1', attributes: [attribute('level', '', '7')] }]),
    responses(
      item(shown('Silo1', '', echo('level', ''))),
      item(shown('Silo1', 'B', echo('level', ''))),
      item(shown('Silo1', 'A', echo('level', '')), missing),
    ),
    'each gives a response of its own',
  )
  t.strictSame(await client.held('Silo1'), [shown('Silo1', '', now), shown('Silo1', 'B', now), was[2]])
  t.strictSame(
    await client.update('UPDATE', [{ id: 'Silo1', attributes: [attribute('level', '', '8')] }], '?!exist=entity::type'),
    responses(item(shown('Silo1', '', echo('level', '')))),
    '!exist means the one without a type',
  )
  t.strictSame(
    await client.update('DELETE', [{ id: 'Silo1', type: 'B' }]),
    responses(item(shown('Silo1', 'B'))),
    'with a type that one is meant',
  )
  t.strictSame(
    await client.update('DELETE', [{ id: 'Silo1', type: '' }]),
    responses(item(shown('Silo1', '')), item(shown('Silo1', 'A'))),
  )
  t.strictSame(await client.held('Silo1'), unknown)
  await client.given({ id: 'Silo1', type: 'A' })
  t.strictSame(
    await client.update('APPEND', [{ id: 'Silo1', attributes: [level] }], '?!exist=entity::type'),
    responses(item(shown('Silo1', '', echo('level', 'percent')))),
    'APPEND with !exist creates the one without a type',
  )
  t.strictSame(await client.held('Silo1'), [shown('Silo1', 'A'), shown('Silo1', '', level)])
  for (const action of ['UPDATE', 'REPLACE', 'DELETE']) {
    t.strictSame(
      await client.update(action, [{ id: 'Silo1', type: 'A', attributes: [level] }], '?!exist=entity::type'),
      responses(item(shown('Silo1', 'A', echo('level', 'percent')), status(404, 'Silo1'))),
      `!exist and a type mean none: ${action}`,
    )
  }
  t.strictSame(await client.held('Silo1'), [shown('Silo1', 'A'), shown('Silo1', '', level)])
  t.strictSame(
    await client.update('APPEND', [{ id: 'Silo2', type: 'A' }], '?!exist=entity::type'),
    responses(item(shown('Silo2', 'A'))),
    'APPEND with !exist and a type creates the one of the type',
  )
  t.strictSame(
    await client.update('UPDATE', [{ id: 'Silo1', type: 'A', attributes: [light] }], '?exist=entity::type'),
    responses(item(shown('Silo1', 'A', echo('light', 'lux')), offending('UPDATE', '[Silo1, A]', 'light'))),
    'exist is ignored in an update',
  )
})

test('elements are taken in order, and one that fails stops no other [context 6.2]', async (t) => {
  await updates(
    t,
    [],
    [
      [
        'a later element sees an earlier one',
        'APPEND',
        [
          silo(level),
          { id: 'Silo1', type: '', attributes: [light] },
          { type: 'Silo', id: 'Silo2', isPattern: 'true' },
          silo(attribute('level', '', '1')),
        ],
        responses(
          item(shownSilo(echo('level', 'percent'))),
          item(shownSilo(echo('light', 'lux'))),
          item({ ...shown('Silo2', 'Silo'), isPattern: 'true' }, status(501)),
          item(shownSilo(echo('level', ''))),
        ),
        [shownSilo(attribute('level', 'percent', '1'), light)],
      ],
    ],
  )
})

test('what is missing is reported after all elements [context 6.4]', async (t) => {
  const smell = echo('smell', 'text')
  const given = [attribute('smell', 'text', 'none'), level]
  const notFound = item(shownSilo(smell), status(404, 'Silo1'))
  const other = item(shown('Silo9', 'Silo', echo('level', 'percent')), status(404, 'Silo9'))
  const silo9 = { type: 'Silo', id: 'Silo9', attributes: [level] }
  await updates(
    t,
    [silo(light, attribute('level', 'percent', '1'))],
    [
      [
        'UPDATE',
        'UPDATE',
        [silo(...given), silo9],
        responses(item(shownSilo(echo('level', 'percent'))), other, notFound),
        [shownSilo(level, light)],
      ],
      [
        'DELETE removes what exists, whatever the order',
        'DELETE',
        [silo(...given), silo9],
        responses(item(shownSilo(echo('level', 'percent'))), other, notFound),
        [shownSilo(light)],
      ],
      [
        'two elements with something missing',
        'UPDATE',
        [silo(...given), silo(attribute('x', '', '1'), light)],
        responses(
          item(shownSilo(echo('level', 'percent'))),
          item(shownSilo(echo('light', 'lux'))),
          notFound,
          item(shownSilo(echo('x', '')), status(404, 'Silo1')),
        ),
      ],
    ],
  )
})

test('the first error of an element decides [context 6.5]', async (t) => {
  const north = attribute('humidity', 'percent', '5', ID('north'))
  const bare = attribute('humidity', 'percent', '5')
  const empty = { name: 'nothing' }
  const mixed = (action: string) => offending(action, '(Silo1, Silo)', 'humidity')
  const none = status(422, 'duplicated attribute /level/')
  const emptyAttribute = (action: string) =>
    offending(action, '[Silo1, Silo, false]', 'nothing - empty attribute not allowed in APPEND or UPDATE', 422)
  const actions = ['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE']
  await updates(
    t,
    [silo(level)],
    [
      ...actions.map(
        (action): Meant => [
          `row 1 before all, ${action}`,
          action,
          [
            {
              ...silo(attribute('level', 'a', '1'), north, bare, empty, attribute('level', 'b', '2')),
              isPattern: 'true',
            },
          ],
          responses(item({ ...shownSilo(echo('level', 'a')), isPattern: 'true' }, none)),
          [shownSilo(level)],
        ],
      ),
      ...actions.map(
        (action): Meant => [
          `row 2 before 3 and 4, ${action}`,
          action,
          [{ ...silo(empty, north, bare), isPattern: 'true' }],
          responses(
            item(
              {
                ...shownSilo(
                  echo('nothing', ''),
                  echo('humidity', 'percent', ID('north')),
                  echo('humidity', 'percent'),
                ),
                isPattern: 'true',
              },
              mixed(action),
            ),
          ),
          [shownSilo(level)],
        ],
      ),
      ...actions.map(
        (action): Meant => [
          `row 3 before 4, ${action}`,
          action,
          [{ ...silo(empty), isPattern: 'true' }],
          responses(item({ ...shownSilo(), isPattern: 'true' }, status(501))),
        ],
      ),
      ...actions
        .filter((action) => action !== 'DELETE')
        .map(
          (action): Meant => [
            `row 4, ${action}`,
            action,
            [silo(light, empty, { name: 'other', type: '' })],
            responses(item(shownSilo(echo('nothing', '')), emptyAttribute(action))),
            [shownSilo(level)],
          ],
        ),
      [
        'row 4 before 5',
        'UPDATE',
        [{ id: 'Silo9', attributes: [empty] }],
        responses(
          item(
            shown('Silo9', '', echo('nothing', '')),
            offending('UPDATE', '[Silo9, , false]', 'nothing - empty attribute not allowed in APPEND or UPDATE', 422),
          ),
        ),
      ],
      [
        'a type alone is no empty attribute',
        'APPEND',
        [silo({ name: 'x', type: 't' })],
        done(echo('x', 't')),
        [shownSilo(level, attribute('x', 't', ''))],
      ],
      [
        'a value alone, even empty, is none',
        'APPEND',
        [silo({ name: 'x', value: '' })],
        done(echo('x', '')),
        [shownSilo(level, attribute('x', '', ''))],
      ],
      [
        'metadata alone is none',
        'APPEND',
        [silo({ name: 'x', metadatas: [metadata('a', '', '1')] })],
        done(echo('x', '', metadata('a', '', '1'))),
        [shownSilo(level, attribute('x', '', '', metadata('a', '', '1')))],
      ],
      [
        'row 6 names the last one missing',
        'UPDATE',
        [silo(attribute('a', '', '1'), attribute('b', '', '1'))],
        responses(item(shownSilo(echo('a', ''), echo('b', '')), offending('UPDATE', '[Silo1, Silo]', 'b'))),
      ],
      [
        'row 7 names the first one missing',
        'DELETE',
        [silo({ name: 'a' }, { name: 'b' })],
        responses(
          item(
            shownSilo(echo('a', ''), echo('b', '')),
            offending('DELETE', '[Silo1, Silo]', 'a - attribute not found'),
          ),
        ),
      ],
      [
        'row 2 with an empty type',
        'UPDATE',
        [{ id: 'Silo1', attributes: [north, bare] }],
        responses(
          item(
            shown('Silo1', '', echo('humidity', 'percent', ID('north')), echo('humidity', 'percent')),
            offending('UPDATE', '(Silo1, )', 'humidity'),
          ),
        ),
      ],
      [
        'one name with two IDs is fine',
        'APPEND',
        [silo(north, attribute('humidity', 'percent', '6', ID('a')))],
        done(echo('humidity', 'percent', ID('north')), echo('humidity', 'percent', ID('a'))),
        [shownSilo(attribute('humidity', 'percent', '6', ID('a')), north, level)],
      ],
      [
        'one instance twice',
        'APPEND',
        [silo(north, attribute('humidity', 'x', '6', ID('north')))],
        responses(
          item(shownSilo(echo('humidity', 'percent', ID('north'))), status(422, 'duplicated attribute /humidity/')),
        ),
      ],
      [
        'the type is no part of the identity',
        'APPEND',
        [silo(attribute('a', 'x', '1'), attribute('a', 'y', '1'))],
        responses(item(shownSilo(echo('a', 'x')), status(422, 'duplicated attribute /a/'))),
      ],
    ],
  )
})

test('row 2 names the first attribute whose name occurs both ways [context 6.5]', async (t) => {
  const client = tenantClient(broker)
  const given = [
    attribute('x', '', '1'),
    attribute('b', '', '1', ID('1')),
    attribute('a', '', '1'),
    attribute('a', '', '1', ID('1')),
    attribute('b', '', '1'),
  ]
  t.match(await client.update('APPEND', [{ id: 'Silo1', attributes: given }]), {
    contextResponses: [{ statusCode: offending('APPEND', '(Silo1, )', 'b') }],
  })
})

test('instances of a name: an ID or none, never both [context 2.4, 6.5]', async (t) => {
  const north = attribute('humidity', 'percent', '5', ID('north'))
  const south = attribute('humidity', 'percent', '9', ID('south'))
  const plain = attribute('level', 'percent', '64')
  const was = [shownSilo(north, south, plain)]
  const cannot = (name: string) => offending('APPEND', '[Silo1, Silo]', `${name} - attribute cannot be appended`)
  await updates(
    t,
    [silo(south, north, plain)],
    [
      ...['APPEND', 'APPEND_STRICT'].flatMap((action): Meant[] => [
        [
          `row 8 without ID, ${action}`,
          action,
          [silo(light, attribute('humidity', 't', '1'))],
          responses(item(shownSilo(echo('light', 'lux'), echo('humidity', 't')), cannot('humidity'))),
          was,
        ],
        [
          `row 8 with ID, ${action}`,
          action,
          [silo(attribute('level', 't', '1', ID('a')))],
          responses(item(shownSilo(echo('level', 't', ID('a'))), cannot('level'))),
          was,
        ],
        [
          `only the exact name counts, ${action}`,
          action,
          [silo(attribute('humid', '', '1'), attribute('levels', '', '1', ID('a')))],
          done(echo('humid', ''), echo('levels', '', ID('a'))),
          [shownSilo(attribute('humid', '', '1'), north, south, plain, attribute('levels', '', '1', ID('a')))],
        ],
      ]),
      [
        'APPEND adds an instance',
        'APPEND',
        [silo(attribute('humidity', 'percent', '7', ID('east')))],
        done(echo('humidity', 'percent', ID('east'))),
        [shownSilo(attribute('humidity', 'percent', '7', ID('east')), north, south, plain)],
      ],
      [
        'for APPEND_STRICT any stored instance counts as existing',
        'APPEND_STRICT',
        [silo(attribute('humidity', 'percent', '7', ID('east')), light)],
        responses(
          item(shownSilo(echo('light', 'lux'))),
          item(shownSilo(), status(400, 'one or more of the attributes in the request already exist: [ humidity ]')),
        ),
        [shownSilo(north, south, plain, light)],
      ],
      [
        'UPDATE addresses one instance',
        'UPDATE',
        [silo(attribute('humidity', '', '1', metadata('ID', 'x', 'north')))],
        done(echo('humidity', '', ID('north'))),
        [shownSilo(attribute('humidity', 'percent', '1', ID('north')), south, plain)],
      ],
      [
        'UPDATE without ID finds no instance',
        'UPDATE',
        [silo(attribute('humidity', '', '1'))],
        responses(item(shownSilo(echo('humidity', '')), offending('UPDATE', '[Silo1, Silo]', 'humidity'))),
        was,
      ],
      [
        'DELETE without ID finds no instance',
        'DELETE',
        [silo({ name: 'humidity' })],
        responses(
          item(shownSilo(echo('humidity', '')), offending('DELETE', '[Silo1, Silo]', 'humidity - attribute not found')),
        ),
        was,
      ],
      [
        'DELETE removes one instance',
        'DELETE',
        [silo({ name: 'humidity', metadatas: [ID('south')] })],
        done(echo('humidity', '', ID('south'))),
        [shownSilo(north, plain)],
      ],
      [
        'an ID of another value is another instance',
        'DELETE',
        [silo({ name: 'level', metadatas: [ID('a')] })],
        responses(
          item(
            shownSilo(echo('level', '', ID('a'))),
            offending('DELETE', '[Silo1, Silo]', 'level - attribute not found'),
          ),
        ),
        was,
      ],
    ],
  )
})

test('metadata are merged by their names [context 2.6, 2.3]', async (t) => {
  const a = metadata('a', 'text', '1')
  const b = metadata('b', 'text', '2')
  const all = (...m: readonly unknown[]) => [shownSilo(attribute('level', 'percent', '64', ...m))]
  const update = (...m: readonly unknown[]) => [silo({ name: 'level', value: '64', metadatas: m })]
  const merged = (...m: readonly unknown[]) => done(echo('level', '', ...m))
  await updates(
    t,
    [silo(attribute('level', 'percent', '64', b, a))],
    [
      ...['APPEND', 'UPDATE'].flatMap((action): Meant[] => [
        [
          `given replaces, the others stay, ${action}`,
          action,
          update(metadata('b', 'x', '3')),
          merged(metadata('b', 'x', '3')),
          all(a, metadata('b', 'x', '3')),
        ],
        [
          `given joins, ${action}`,
          action,
          update(metadata('B', 'x', '3')),
          merged(metadata('B', 'x', '3')),
          all(metadata('B', 'x', '3'), a, b),
        ],
        [
          `without a type it keeps the one it has, ${action}`,
          action,
          update({ name: 'a', value: '9' }),
          merged(metadata('a', '', '9')),
          all(metadata('a', 'text', '9'), b),
        ],
        [
          `the last of two is stored, the echo has both, ${action}`,
          action,
          update(metadata('a', 'x', '3'), metadata('a', 'y', '4')),
          merged(metadata('a', 'x', '3'), metadata('a', 'y', '4')),
          all(metadata('a', 'y', '4'), b),
        ],
        [
          `none of the dates is stored or echoed, ${action}`,
          action,
          update(...['creData', 'modDate', 'dateCreated', 'dateModified'].map((name) => metadata(name, 'x', '1'))),
          merged(),
          all(a, b),
        ],
        [
          `metadata only keeps value and type, ${action}`,
          action,
          [silo({ name: 'level', metadatas: [metadata('a', '', '7')] })],
          merged(metadata('a', '', '7')),
          all(metadata('a', 'text', '7'), b),
        ],
        [
          `an empty type keeps the type, ${action}`,
          action,
          [silo({ name: 'level', type: '', value: '64' })],
          merged(),
          all(a, b),
        ],
      ]),
      [
        'REPLACE has them as given',
        'REPLACE',
        update({ name: 'c', value: '1' }),
        merged(metadata('c', '', '1')),
        [shownSilo(attribute('level', '', '64', metadata('c', '', '1')))],
      ],
      [
        'ID first, then location, then as given',
        'APPEND',
        [
          silo(
            attribute(
              'p',
              't',
              '1, 2',
              metadata('z', '', '1'),
              metadata('location', 'x', 'WSG84'),
              metadata('k', '', '1'),
              metadata('ID', 'y', 'i'),
            ),
          ),
        ],
        done(
          echo(
            'p',
            't',
            ID('i'),
            metadata('location', 'string', 'WSG84'),
            metadata('z', '', '1'),
            metadata('k', '', '1'),
          ),
        ),
        [
          shownSilo(
            attribute('level', 'percent', '64', a, b),
            attribute('p', 't', '1, 2', ID('i'), WGS84, metadata('k', '', '1'), metadata('z', '', '1')),
          ),
        ],
      ],
      [
        'the last ID and location are stored, the echo has all',
        'APPEND',
        [
          silo(
            attribute(
              'p',
              't',
              '1, 2',
              metadata('location', 'x', 'WGS84'),
              metadata('ID', 'y', 'i'),
              metadata('k', '', '1'),
              metadata('location', 'x', 'WSG84'),
              metadata('ID', 'z', 'j'),
            ),
          ),
        ],
        done(
          echo(
            'p',
            't',
            ID('i'),
            ID('j'),
            metadata('location', 'string', 'WGS84'),
            metadata('location', 'string', 'WSG84'),
            metadata('k', '', '1'),
          ),
        ),
        [
          shownSilo(
            attribute('level', 'percent', '64', a, b),
            attribute('p', 't', '1, 2', ID('j'), WGS84, metadata('k', '', '1')),
          ),
        ],
      ],
    ],
  )
})

const position = attribute('position', 'coords', '48.2, 16.4', WGS84)
const atPoint = attribute('position', 'geo:point', '48.2, 16.4')

test('an attribute is the location by its type or its metadata [context 2.5]', async (t) => {
  await updates(
    t,
    [silo(level)],
    [
      [
        'by metadata',
        'APPEND',
        [silo(position)],
        done(echo('position', 'coords', WGS84)),
        [shownSilo(level, position)],
      ],
      ['by type', 'APPEND', [silo(atPoint)], done(echo('position', 'geo:point')), [shownSilo(level, atPoint)]],
      [
        'by both',
        'APPEND',
        [silo({ ...atPoint, metadatas: [WGS84] })],
        done(echo('position', 'geo:point')),
        [shownSilo(level, atPoint)],
      ],
      [
        'an attribute that exists becomes it under APPEND',
        'APPEND',
        [silo(attribute('level', '', '1, 2', WGS84))],
        done(echo('level', '', WGS84)),
        [shownSilo(attribute('level', 'percent', '1, 2', WGS84))],
      ],
      [
        'an attribute that exists becomes it under UPDATE',
        'UPDATE',
        [silo(attribute('level', 'geo:point', '1, 2'))],
        done(echo('level', 'geo:point')),
        [shownSilo(attribute('level', 'geo:point', '1, 2'))],
      ],
      [
        'without a value the stored one counts',
        'UPDATE',
        [silo({ name: 'level', metadatas: [WGS84] })],
        responses(
          item(
            shownSilo(echo('level', '', WGS84)),
            offending(
              'UPDATE',
              '[Silo1, Silo]',
              'level - error parsing location attribute: geo coordinates format error: 64',
            ),
          ),
        ),
        [shownSilo(level)],
      ],
    ],
  )
  await updates(
    t,
    [silo(position, attribute('other', 'x', '5, 5'))],
    [
      ...['APPEND', 'UPDATE'].flatMap((action): Meant[] => [
        [
          `an update that does not say so keeps it, ${action}`,
          action,
          [silo(attribute('position', '', ' -90 ,180 '))],
          done(echo('position', '')),
          [shownSilo(attribute('other', 'x', '5, 5'), attribute('position', 'coords', ' -90 ,180 ', WGS84))],
        ],
        [
          `its new value must be coordinates, ${action}`,
          action,
          [silo(attribute('position', '', 'here'))],
          responses(
            item(
              shownSilo(echo('position', '')),
              offending(
                action,
                '[Silo1, Silo]',
                'position - error parsing location attribute: geo coordinates format error: here',
              ),
            ),
          ),
          [shownSilo(attribute('other', 'x', '5, 5'), position)],
        ],
        [
          `another can not be it too, ${action}`,
          action,
          [silo(attribute('other', 'geo:point', '1, 1'))],
          responses(
            item(
              shownSilo(echo('other', 'geo:point')),
              offending(
                action,
                '[Silo1, Silo]',
                'other - attempt to define a geo location attribute [other] when another one has been previously defined [position]',
              ),
            ),
          ),
          [shownSilo(attribute('other', 'x', '5, 5'), position)],
        ],
        [
          `only WGS84, ${action}`,
          action,
          [silo(attribute('other', 'x', '1, 1', metadata('location', 'string', 'ED50')))],
          responses(
            item(
              shownSilo(echo('other', 'x', metadata('location', 'string', 'ED50'))),
              offending(action, '[Silo1, Silo]', 'other - only WGS84 is supported for location, found: [ED50]'),
            ),
          ),
        ],
      ]),
      [
        'a new attribute with bad coordinates',
        'APPEND',
        [
          { id: 'Silo2', attributes: [light] },
          { id: 'Silo2', attributes: [attribute('p', 'geo:point', '91, 0')] },
        ],
        responses(
          item(shown('Silo2', '', echo('light', 'lux'))),
          item(
            shown('Silo2', '', echo('p', 'geo:point')),
            offending(
              'APPEND',
              '[Silo2, ]',
              'p - error parsing location attribute for new attribute: geo coordinates format error: 91, 0',
            ),
          ),
        ),
      ],
      [
        'a new attribute with bad coordinates, strictly',
        'APPEND_STRICT',
        [
          { id: 'Silo2', attributes: [light] },
          { id: 'Silo2', attributes: [attribute('p', 'geo:point', '0, 180.1')] },
        ],
        responses(
          item(shown('Silo2', '', echo('light', 'lux'))),
          item(
            shown('Silo2', '', echo('p', 'geo:point')),
            offending(
              'APPEND',
              '[Silo2, ]',
              'p - error parsing location attribute for new attribute: geo coordinates format error: 0, 180.1',
            ),
          ),
        ),
      ],
      [
        'creation with bad coordinates',
        'APPEND',
        [{ id: 'Silo2', attributes: [attribute('p', 'geo:point', '1')] }],
        responses(item(shown('Silo2', '', echo('p', 'geo:point')), status(472, 'geo coordinates format error: 1'))),
      ],
      [
        'creation in another system',
        'APPEND',
        [{ id: 'Silo2', attributes: [attribute('p', 't', '1, 1', metadata('location', 'string', 'ED50'))] }],
        responses(
          item(
            shown('Silo2', '', echo('p', 't', metadata('location', 'string', 'ED50'))),
            status(472, 'only WGS84 are supported, found: ED50'),
          ),
        ),
      ],
      [
        'creation with two',
        'APPEND_STRICT',
        [{ id: 'Silo2', attributes: [atPoint, attribute('q', 'geo:point', '1, 1')] }],
        responses(
          item(
            shown('Silo2', '', echo('position', 'geo:point'), echo('q', 'geo:point')),
            status(472, 'You cannot use more than one geo location attribute when creating an entity'),
          ),
        ),
      ],
      [
        'a compound value is no coordinates',
        'APPEND',
        [{ id: 'Silo2', attributes: [attribute('p', 'geo:point', ['1', '2'])] }],
        responses(
          item(shown('Silo2', '', echo('p', 'geo:point')), status(472, 'geo coordinates format error: ["1","2"]')),
        ),
      ],
      [
        'REPLACE: the location is that of the new attributes',
        'REPLACE',
        [silo(attribute('other', 'geo:point', '1, 1'))],
        done(echo('other', 'geo:point')),
        [shownSilo(attribute('other', 'geo:point', '1, 1'))],
      ],
      [
        'REPLACE: the old location is gone',
        'REPLACE',
        [silo(attribute('position', 'coords', 'anywhere'))],
        done(echo('position', 'coords')),
        [shownSilo(attribute('position', 'coords', 'anywhere'))],
      ],
      [
        'REPLACE is reported as UPDATE',
        'REPLACE',
        [silo(attribute('p', 'geo:point', 'x'))],
        responses(
          item(
            shownSilo(echo('p', 'geo:point')),
            offending(
              'UPDATE',
              '[Silo1, Silo]',
              'p - error parsing location attribute: geo coordinates format error: x',
            ),
          ),
        ),
        [shownSilo(attribute('other', 'x', '5, 5'), position)],
      ],
      [
        'a type of its own instead of geo:point keeps it',
        'APPEND',
        [
          { id: 'Silo2', attributes: [atPoint] },
          { id: 'Silo2', attributes: [attribute('position', 'x', '1, 1')] },
          { id: 'Silo2', attributes: [attribute('q', 'geo:point', '1, 1')] },
        ],
        responses(
          item(shown('Silo2', '', echo('position', 'geo:point'))),
          item(shown('Silo2', '', echo('position', 'x'))),
          item(
            shown('Silo2', '', echo('q', 'geo:point')),
            offending(
              'APPEND',
              '[Silo2, ]',
              'q - attempt to define a geo location attribute [q] when another one has been previously defined [position]',
            ),
          ),
        ),
      ],
    ],
  )
})

test('removing the location makes room for another [context 2.5]', async (t) => {
  const client = tenantClient(broker)
  await client.given(silo(position))
  await client.update('DELETE', [silo({ name: 'position' })])
  await client.given(silo(attribute('q', 'geo:point', '1, 1')))
  t.strictSame(await client.held('Silo1'), [shownSilo(attribute('q', 'geo:point', '1, 1'))])
})

test('the location is the one instance that was declared [context 2.5]', async (t) => {
  const client = tenantClient(broker)
  const here = attribute('place', 'coords', '1, 1', ID('a'), WGS84)
  const other = attribute('place', 'text', 'anywhere', ID('b'))
  await client.given(silo(here, other))
  t.strictSame(await client.held('Silo1'), [shownSilo(here, other)])
  await client.given(silo(attribute('place', '', 'elsewhere', ID('b'))))
  t.match(await client.update('UPDATE', [silo(attribute('place', '', '2, 2', ID('b'), WGS84))]), {
    contextResponses: [{ statusCode: { code: '472' } }],
  })
  t.match(await client.update('UPDATE', [silo(attribute('place', '', 'x', ID('a')))]), {
    contextResponses: [{ statusCode: { code: '472' } }],
  })
})

test('a failed element changes nothing [context 6.5]', async (t) => {
  await updates(
    t,
    [silo(level)],
    [
      [
        'what precedes a bad location',
        'APPEND',
        [silo(attribute('level', '', '1'), light, attribute('p', 'geo:point', 'x'))],
        responses(
          item(
            shownSilo(echo('level', ''), echo('light', 'lux'), echo('p', 'geo:point')),
            offending(
              'APPEND',
              '[Silo1, Silo]',
              'p - error parsing location attribute for new attribute: geo coordinates format error: x',
            ),
          ),
        ),
        [shownSilo(level)],
      ],
    ],
  )
})

test('domains of a context element are accepted and ignored [context 6.1]', async (t) => {
  await updates(
    t,
    [],
    [
      [
        'domain',
        'APPEND',
        [{ ...silo(level), attributeDomainName: 'x', domainMetadatas: [metadata('a', 'b', 'c')] }],
        done(echo('level', 'percent')),
        [shownSilo(level)],
      ],
    ],
  )
})

test('isPattern is true or false in several writings [context 2.1]', async (t) => {
  const refusal = status(501)
  for (const isPattern of ['true', '1', true, 1]) {
    t.strictSame(
      await tenantClient(broker).update('APPEND', [{ id: 'a', isPattern }]),
      responses(item({ ...shown('a', ''), isPattern: 'true' }, refusal)),
      `${isPattern}`,
    )
  }
  for (const isPattern of ['false', '0', '', false, 0]) {
    t.strictSame(
      await tenantClient(broker).update('APPEND', [{ id: 'a', isPattern }]),
      responses(item(shown('a', ''), ok)),
      `${isPattern}`,
    )
  }
})

test('id, type and service path have 1024 bytes together [context 4.2]', async (t) => {
  const refusal = status(400, 'Too long entity id/type/servicePath combination')
  for (const [id, type, path, isFine] of [
    ['a'.repeat(1023), '', '/', true],
    ['a'.repeat(1024), '', '/', false],
    ['a'.repeat(500), 'b'.repeat(500), `/${'c'.repeat(23)}`, true],
    ['a'.repeat(500), 'b'.repeat(500), `/${'c'.repeat(24)}`, false],
    ['é'.repeat(511), 'b', '/', true],
    ['é'.repeat(512), '', '/', false],
  ] as const) {
    const response = await tenantClient(broker).update('APPEND', [{ id, type }], '', { 'Fiware-ServicePath': path })
    t.strictSame(
      response,
      responses(item(shown(id, type), isFine ? ok : refusal)),
      `${id.length} ${type.length} ${path.length}`,
    )
  }
})
