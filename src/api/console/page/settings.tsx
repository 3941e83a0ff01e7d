import type { Configuration, ShownSetting } from '../shapes.js'
import { setParameter } from './address.js'
import { bytesText, countText } from './format.js'
import { type Column, DataTable } from './parts/data-table.js'
import { SearchField, useParameter } from './parts/filter-fields.js'
import { PageHead } from './parts/page-head.js'
import { FlagLink } from './parts/small-parts.js'
import { Shown } from './parts/states.js'
import { useResource } from './session.js'

/** Settings change only with a restart, and sizes as the data grows. */
const every_ms = 30_000

/** All settings with values, sources and meanings; the version and the data folder. */
export function SettingsPage() {
  const known = useResource<Configuration>('/admin/config', every_ms)
  return (
    <>
      <PageHead title="Settings" curl={['/admin/config']} />
      <Shown known={known} what="The settings">
        {(configuration) => <Settings configuration={configuration} />}
      </Shown>
    </>
  )
}

function Settings({ configuration }: { readonly configuration: Configuration }) {
  const wanted = (useParameter('text') ?? '').toLowerCase()
  const isDifferingOnly = useParameter('differing') === 'only'
  const { settings } = configuration
  const found = settings.filter(
    (setting) =>
      (!isDifferingOnly || isDiffering(setting)) &&
      `${setting.flag} ${setting.meaning} ${setting.value}`.toLowerCase().includes(wanted),
  )
  return (
    <>
      <About configuration={configuration} />
      <section aria-labelledby="flags">
        <h2 id="flags">Flags</h2>
        <search class="finder">
          <SearchField name="text" label="Search" hint="name, value or meaning" isFirst />
          <label class="check">
            <input
              type="checkbox"
              checked={isDifferingOnly}
              onChange={({ currentTarget }) => setParameter('differing', currentTarget.checked ? 'only' : undefined)}
            />{' '}
            only those that differ from their default
          </label>
          <span class="quiet" role="status">
            {found.length} of {settings.length}
          </span>
          <a href="/docs/flags" target="_blank" rel="noopener">
            Reference of all flags
          </a>
        </search>
        {found.length === 0 && <p class="state">No flag matches. The search looks at names, values and meanings.</p>}
        {groupsOf(found).map(([group, members]) => (
          <section key={group} aria-label={group} class="settings">
            <h3>{group}</h3>
            <DataTable
              caption={`${group}: flags, their values and what they mean`}
              columns={columns}
              rows={members}
              keyOf={({ flag }) => flag}
              empty="None."
            />
          </section>
        ))}
      </section>
    </>
  )
}

function groupsOf(
  settings: readonly ShownSetting[],
): readonly (readonly [group: string, members: readonly ShownSetting[]])[] {
  const groups = [...new Set(settings.map(({ group }) => group))]
  return groups.map((group) => [group, settings.filter((each) => each.group === group)])
}

function About({ configuration }: { readonly configuration: Configuration }) {
  const { version, gitHash, libraries, dataFolder } = configuration
  return (
    <section aria-labelledby="what-runs">
      <h2 id="what-runs">What runs</h2>
      <dl class="facts-list">
        <dt>Rigel</dt>
        <dd>
          {version} <span class="quiet">{gitHash === 'nogitversion' ? '' : gitHash.slice(0, 7)}</span>
        </dd>
        <dt>Data folder</dt>
        <dd>
          <code>{dataFolder.path}</code>, {bytesText(dataFolder.used_bytes)} in {countText(dataFolder.partitions)}{' '}
          {dataFolder.partitions === 1 ? 'partition' : 'partitions'}, format {dataFolder.format}
        </dd>
        <dt>Libraries</dt>
        <dd>
          {Object.entries(libraries)
            .map(([name, each]) => `${name} ${each}`)
            .join(', ')}
        </dd>
      </dl>
    </section>
  )
}

/** Whether something else than the default is in force, or than at the start; of a secret only that it was given is known. */
function isDiffering({ source, value, byDefault, atStart }: ShownSetting): boolean {
  return (source !== 'default' && value !== byDefault) || atStart !== undefined
}

const columns: readonly Column<ShownSetting>[] = [
  { name: 'flag', cell: ({ flag }) => <FlagLink flag={flag} />, order: ({ flag }) => flag },
  {
    name: 'value',
    cell: (setting) =>
      isDiffering(setting) ? (
        <b class="stored differing">{setting.value}</b>
      ) : (
        <span class="stored">{setting.value}</span>
      ),
    order: ({ value }) => value,
  },
  { name: 'default', cell: ({ byDefault }) => byDefault, order: ({ byDefault }) => byDefault },
  {
    name: 'from',
    cell: ({ source, atStart }) => (
      <>
        {source === 'default' ? <span class="quiet">default</span> : <b>{source}</b>}
        {atStart !== undefined && <span class="stored">, at the start {atStart}</span>}
      </>
    ),
    order: ({ source }) => source,
    isMinor: true,
  },
  { name: 'takes', cell: ({ takes }) => takes, isMinor: true },
  { name: 'meaning', cell: ({ meaning }) => meaning },
]
