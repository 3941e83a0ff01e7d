import { useState } from 'preact/hooks'
import type { WholeAttribute, WholeEntities, WholeEntity } from '../../shapes.js'
import { linkTo, nameOfDefault, useTenant } from '../address.js'
import { pathWith, useParameter } from '../parts/filter-fields.js'
import { CopyButton, FoldedJson } from '../parts/json.js'
import { PageHead } from '../parts/page-head.js'
import { Chip, FactList, Heads, OptionalTime, ScrollRegion, StoredText } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import { useResource } from '../session.js'
import { attributeKey, useWatch, type WatchedChange } from './watch.js'

/** How often a watched entity is read, in milliseconds. */
const watched_ms = 500
const usual_ms = 2_000

/** The entities of one id: their attributes, a watch, and the subscriptions and registrations that concern them. */
export function EntityDetail({ id }: { readonly id: string }) {
  const [service, type, path] = [useTenant() ?? '', useParameter('type'), useParameter('path')]
  const [isWatched, setWatched] = useState(false)
  const call = pathWith(`/admin/entities/${encodeURIComponent(id)}`, { service, type, path })
  const known = useResource<WholeEntities>(call, isWatched ? watched_ms : usual_ms)
  const { changes, fresh } = useWatch(isWatched, known.value?.entities)
  return (
    <>
      <p>
        <a href={linkTo('entities', type === undefined ? {} : { type })}>All entities{type ? ' of this type' : ''}</a>
      </p>
      <PageHead title={`Entity ${id}`} curl={[call]}>
        <button type="button" aria-pressed={isWatched} onClick={() => setWatched(!isWatched)}>
          Watch
        </button>
      </PageHead>
      <Shown known={known} what="The entity">
        {({ entities, more }) => (
          <>
            {entities.map((entity) => (
              <Whole key={`${entity.servicePath} ${entity.type}`} entity={entity} fresh={fresh} />
            ))}
            {more > 0 && <p class="quiet">{more} more entities have this id.</p>}
            {isWatched && <Changes changes={changes} />}
          </>
        )}
      </Shown>
    </>
  )
}

function Whole({ entity, fresh }: { readonly entity: WholeEntity; readonly fresh: ReadonlySet<string> }) {
  const { type, service, servicePath, created, modified, attributes, subscriptions, registrations } = entity
  return (
    <section aria-label="Entity">
      <FactList
        facts={[
          ['type', type === '' ? 'none' : <StoredText key="type" text={type} />],
          ['tenant', service === '' ? nameOfDefault : service],
          ['service path', servicePath],
          ['created', <OptionalTime key="created" date={created} />],
          ['changed', <OptionalTime key="changed" date={modified} />],
          [
            'subscriptions',
            <Links key="subscriptions" page="subscriptions" ids={subscriptions.ids} all={subscriptions.count} />,
          ],
          [
            'providers',
            <Links
              key="providers"
              page="registrations"
              ids={registrations.map((each) => each.id)}
              all={registrations.length}
            />,
          ],
        ]}
      />
      <ScrollRegion label="Attributes">
        <table class="attributes">
          <Heads
            names={{
              attribute: '',
              type: 'minor',
              value: '',
              metadata: '',
              changed: 'number',
              created: 'number minor',
            }}
          />
          <tbody>
            {attributes.map((attribute) => {
              const key = attributeKey(entity, attribute)
              return <AttributeRow key={key} attribute={attribute} isFresh={fresh.has(key)} />
            })}
          </tbody>
        </table>
      </ScrollRegion>
      <RawJson entity={entity} />
    </section>
  )
}

function AttributeRow({ attribute, isFresh }: { readonly attribute: WholeAttribute; readonly isFresh: boolean }) {
  const { name, instance, type, value, metadata, isLocation, created, modified } = attribute
  return (
    <tr class={isFresh ? 'flash' : undefined}>
      <th scope="row">
        <StoredText text={name} most={60} />
        {instance !== '' && (
          <>
            {' '}
            <Chip>
              ID <StoredText text={instance} most={40} />
            </Chip>
          </>
        )}
        {isLocation && (
          <>
            {' '}
            <Chip>location</Chip>
          </>
        )}
      </th>
      <td class="minor">
        <StoredText text={type} most={40} />
      </td>
      <td>
        <FoldedJson value={value} />
      </td>
      <td>
        <span class="chips">
          {metadata.map((element) => (
            <Chip key={element.name}>
              <StoredText text={element.name} most={30} /> <MetadataValue value={element.value} />
            </Chip>
          ))}
        </span>
      </td>
      <td class="number">
        <OptionalTime date={modified} />
      </td>
      <td class="number minor">
        <OptionalTime date={created} />
      </td>
    </tr>
  )
}

function MetadataValue({ value }: { readonly value: unknown }) {
  return <StoredText text={typeof value === 'string' ? value : JSON.stringify(value)} most={40} />
}

function Links({
  page,
  ids,
  all,
}: {
  readonly page: 'subscriptions' | 'registrations'
  readonly ids: readonly string[]
  readonly all: number
}) {
  if (all === 0) return <span class="quiet">none</span>
  return (
    <details>
      <summary>{all}</summary>
      <ul>
        {ids.map((id) => (
          <li key={id}>
            <a href={linkTo(page, { id })}>{id}</a>
          </li>
        ))}
        {all > ids.length && <li class="quiet">and {all - ids.length} more</li>}
      </ul>
    </details>
  )
}

/** The number of characters that are shown; Copy takes all of them. */
const most_characters = 100_000

function RawJson({ entity }: { readonly entity: WholeEntity }) {
  const [isOpen, setOpen] = useState(false)
  const text = isOpen ? JSON.stringify(entity, null, 2) : ''
  return (
    <details class="raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Raw JSON</summary>
      {isOpen && (
        <>
          <CopyButton text={text}>Copy</CopyButton>
          <ScrollRegion label="Raw JSON">
            <pre class="stored">
              {text.slice(0, most_characters)}
              {text.length > most_characters && '…'}
            </pre>
          </ScrollRegion>
        </>
      )}
    </details>
  )
}

function Changes({ changes }: { readonly changes: readonly WatchedChange[] }) {
  return (
    <section>
      <h2>Last changes</h2>
      {changes.length === 0 ? (
        <p class="quiet">Nothing has changed since you began to watch.</p>
      ) : (
        <ol>
          {changes.map(({ number, at, name, text }) => (
            <li key={number}>
              <OptionalTime date={at} /> <StoredText text={name} most={60} />: <StoredText text={text} most={200} />
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
