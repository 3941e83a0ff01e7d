import { linkTo } from '../address.js'
import { durationText } from '../format.js'
import type { Moment, Spread } from '../moment.js'
import { type Stage, StageSwatch, stageOf } from '../parts/stages.js'

interface StageSpread extends Stage {
  readonly spread: Spread | undefined
}

/** The ways of an update through the broker in their order, half of the times and 99 of 100 beside each other. */
export function StageTable({ recent }: { readonly recent: Moment }) {
  const stages = stagesOf(recent)
  const longest_s = Math.max(...stages.map(({ spread }) => spread?.p99_s || 0), recent.update.p99_s || 0)
  return (
    <>
      <table class="stages">
        <thead>
          <tr>
            <th scope="col">stage</th>
            <th scope="col" class="number">
              p50
            </th>
            <th scope="col" class="number">
              p99
            </th>
            <td />
          </tr>
        </thead>
        <tbody>
          {[
            ...stages,
            {
              name: 'whole update',
              tone: '',
              title: 'From the head of the request to its answer',
              spread: recent.update,
            },
          ].map(({ name, tone, title, spread }) => (
            <tr key={name}>
              <th scope="row" title={title}>
                {tone !== '' && <StageSwatch tone={tone} />} {name}
              </th>
              <td class="number">{spread ? durationText(spread.p50_s) : '–'}</td>
              <td class="number">{spread ? durationText(spread.p99_s) : '–'}</td>
              <td class="span-bars" aria-hidden="true">
                <i class={`p99 ${tone}`} style={{ width: widthOf(spread?.p99_s, longest_s) }} />
                <i class={`p50 ${tone}`} style={{ width: widthOf(spread?.p50_s, longest_s) }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {recent.waits === undefined && (
        <p class="quiet">
          Waits are not measured: <a href={linkTo('waits')}>Waits</a> switches that on.
        </p>
      )}
    </>
  )
}

function widthOf(duration_s: number | undefined, longest_s: number): string {
  const share = longest_s > 0 && duration_s !== undefined && duration_s > 0 ? duration_s / longest_s : 0
  return `${Math.round(1000 * share) / 10}%`
}

/** Who waits for the write transaction waits in the mailbox meanwhile. */
function stagesOf({ waits, partitions }: Moment): readonly StageSpread[] {
  const mailbox = stageOf('mailbox')
  return [
    { ...stageOf('permit'), spread: waits?.request },
    { ...mailbox, spread: waits?.mailbox },
    {
      name: 'write',
      tone: mailbox.tone,
      title: "Waits for its partition's write transaction",
      spread: waits?.transaction,
    },
    { ...stageOf('commit'), spread: slowestOf(partitions) },
  ]
}

function slowestOf(partitions: Moment['partitions']): Spread | undefined {
  const busy = partitions.filter(({ commit }) => commit.count > 0)
  return busy.toSorted((one, other) => other.commit.p99_s - one.commit.p99_s)[0]?.commit
}
