import Fastify from 'fastify'
import pg from 'pg'
import { helpWith } from './helper.js'
import { items, member } from './ngsi.js'
import { installedPostgres, PostgresServer } from './postgres.js'

export type PeerReply =
  | { readonly kind: 'listening'; readonly url: string; readonly description: string }
  | { readonly kind: 'notInstalled' }

/** Connections to the database: with fewer the groups of its commits are smaller, with more they wait for processors. */
const poolSize = 16

const schema = `
  CREATE TABLE entities (
    id text NOT NULL,
    type text NOT NULL,
    attributes jsonb NOT NULL,
    modified timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, type)
  ) WITH (fillfactor = 50) -- Room for the next version of a row in the same page.`

/** What is held, with what is given over it: attributes and metadata that are not given stay. */
const merged = `
  entities.attributes || (
    SELECT jsonb_object_agg(name, given || jsonb_build_object('metadatas',
      COALESCE(entities.attributes -> name -> 'metadatas', '{}') || (given -> 'metadatas')))
    FROM jsonb_each($3::jsonb) AS each (name, given))`

const statements = {
  UPDATE: `UPDATE entities SET attributes = ${merged}, modified = now() WHERE id = $1 AND type = $2`,
  APPEND: `
    INSERT INTO entities (id, type, attributes) VALUES ($1, $2, $3)
    ON CONFLICT (id, type) DO UPDATE SET attributes = ${merged}, modified = now()`,
} as const

/**
 * What many would write instead of a broker, as a process of its own: Fastify on one thread, a pool of connections, and a row
 * of jsonb for each entity that one prepared statement updates. It takes updates and GETs of single entities as the broker
 * does and gives the same responses; patterns, subscriptions and all else of NGSI it has not.
 */
async function listening(programs: string): Promise<PeerReply> {
  const server = new PostgresServer(programs)
  const pool = new pg.Pool({ host: server.host, user: server.user, database: 'postgres', max: poolSize })
  await pool.query(schema)
  const app = Fastify()
  app.post('/v1/updateContext', async ({ body }) => {
    const action = member(body, 'updateAction') === 'APPEND' ? 'APPEND' : 'UPDATE'
    const elements = items(member(body, 'contextElements'))
    return { contextResponses: await Promise.all(elements.map((element) => update(pool, action, element))) }
  })
  app.get<{ Params: { id: string } }>('/v1/contextEntities/:id', ({ params }) => read(pool, params.id))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    kind: 'listening',
    url,
    description: `Fastify ${app.version}, a pool of ${poolSize} connections, ${server.description}`,
  }
}

interface Attribute {
  readonly name: unknown
  readonly type: unknown
  readonly value: unknown
  readonly metadatas: readonly unknown[]
}

async function update(pool: pg.Pool, action: keyof typeof statements, element: unknown): Promise<object> {
  const [id, type, isPattern] = ['id', 'type', 'isPattern'].map((name) => member(element, name))
  const attributes: readonly Attribute[] = items(member(element, 'attributes')).map((attribute) => ({
    name: member(attribute, 'name'),
    type: member(attribute, 'type'),
    value: member(attribute, 'value'),
    metadatas: items(member(attribute, 'metadatas')),
  }))
  const values = [id, type, JSON.stringify(rowOf(attributes))]
  const { rowCount } = await pool.query({ name: action, text: statements[action], values })
  const written = attributes.map((attribute) => ({ ...attribute, value: '' }))
  return { contextElement: { type, isPattern, id, attributes: written }, statusCode: statusOf(id, rowCount !== 0) }
}

async function read(pool: pg.Pool, id: string): Promise<object> {
  const values = [id]
  const { rows } = await pool.query({
    name: 'read',
    text: 'SELECT type, attributes FROM entities WHERE id = $1',
    values,
  })
  const [row] = rows
  if (row === undefined) return { contextElement: { id }, statusCode: statusOf(id, false) }
  const attributes = listOf(row.attributes).map((attribute) => ({
    ...attribute,
    metadatas: listOf(member(attribute, 'metadatas')),
  }))
  return { contextElement: { type: row.type, isPattern: 'false', id, attributes }, statusCode: statusOf(id, true) }
}

/** Attributes, and their metadata, by name: so that those of an update can be laid over those that are held. */
function rowOf(attributes: readonly Attribute[]): object {
  return byName(attributes.map(({ metadatas, ...attribute }) => ({ ...attribute, metadatas: byName(metadatas) })))
}

function byName(list: readonly unknown[]): object {
  return Object.fromEntries(
    list.map((each) => {
      const { name, ...others } = { name: '', ...Object(each) }
      return [name, others]
    }),
  )
}

function listOf(named: unknown): readonly object[] {
  return Object.entries(Object(named)).map(([name, each]) => ({ name, ...Object(each) }))
}

function statusOf(id: unknown, exists: boolean): object {
  return exists
    ? { code: '200', reasonPhrase: 'OK' }
    : { code: '404', reasonPhrase: 'No context element found', details: id }
}

const programs = installedPostgres()
const reply: Promise<PeerReply> =
  programs === undefined ? Promise.resolve({ kind: 'notInstalled' }) : listening(programs)
helpWith<object, PeerReply>(() => reply)
