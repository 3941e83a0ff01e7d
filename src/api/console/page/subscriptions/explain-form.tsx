import { useState } from 'preact/hooks'
import type { Explanation, ExplanationList } from '../../shapes.js'
import { Field, pathWith } from '../parts/filter-fields.js'
import { FoldedJson } from '../parts/json.js'
import { Chip, Heads, ScrollRegion, StoredText } from '../parts/small-parts.js'
import { read, sentenceOf } from '../session.js'

/** Explains why nothing is sent: compares each condition of a subscription with an entity. */
export function ExplainForm({ id }: { readonly id: string }) {
  const [entity, setEntity] = useState('')
  const [type, setType] = useState('')
  const [found, setFound] = useState<readonly Explanation[]>([])
  const [fault, setFault] = useState<string>()
  const explain = async (event: Event) => {
    event.preventDefault()
    try {
      const path = pathWith(`/admin/subscriptions/${encodeURIComponent(id)}/explain`, { entity, type })
      setFound((await read<ExplanationList>(path)).entities)
      setFault(undefined)
    } catch (thrown) {
      setFound([])
      setFault(sentenceOf(thrown))
    }
  }
  return (
    <section>
      <h2>Why is nothing sent?</h2>
      <form class="finder" onSubmit={explain}>
        <Field label="Entity">
          <input
            required
            spellcheck={false}
            value={entity}
            onInput={({ currentTarget }) => setEntity(currentTarget.value)}
          />
        </Field>
        <Field label="Type">
          <input
            spellcheck={false}
            placeholder="any"
            value={type}
            onInput={({ currentTarget }) => setType(currentTarget.value)}
          />
        </Field>
        <button type="submit">Explain</button>
      </form>
      <div role="status">
        {fault && <p class="failed">{fault}.</p>}
        {found.map((each) => (
          <Explained key={`${each.servicePath} ${each.type}`} entity={each} />
        ))}
      </div>
    </section>
  )
}

function Explained({ entity }: { readonly entity: Explanation }) {
  const { id, type, servicePath, wouldNotify, why, conditions } = entity
  return (
    <>
      <p>
        <Chip tone={wouldNotify ? 'good' : 'bad'}>{wouldNotify ? 'would be notified' : 'would not be notified'}</Chip> A
        change of <StoredText text={id} /> ({type === '' ? 'no type' : <StoredText text={type} />}, {servicePath})
        {why !== undefined && `: ${why}`}.
      </p>
      <ScrollRegion label="Conditions">
        <table>
          <Heads names={{ condition: '', fits: '', required: '', 'there is': '' }} />
          <tbody>
            {conditions.map(({ condition, fits, required, held }, at) => (
              <tr key={`${condition} ${at}`}>
                <th scope="row">{condition}</th>
                <td>
                  <Chip tone={fits ? 'good' : 'bad'}>{fits ? 'fits' : 'does not fit'}</Chip>
                </td>
                <td>
                  <Compared value={required} />
                </td>
                <td>
                  <Compared value={held} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </>
  )
}

function Compared({ value }: { readonly value: unknown }) {
  if (value === '') return <span class="quiet">none</span>
  if (typeof value === 'string') return <StoredText text={value} />
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return <StoredText text={value.join(', ')} />
  return <FoldedJson value={value} open={1} />
}
