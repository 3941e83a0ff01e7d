// The flags as a page for people.
import { escaped, pageOf } from './reference-markup.mjs'

/** The sections of the page, with the names and flags of each: the groups, then what has no effect and what is refused. */
export function flagSections(flagGroups, flagsByName) {
  const all = [...flagsByName]
  const working = all.filter(([, { kind }]) => kind !== 'ignored' && kind !== 'refused')
  return [
    ...flagGroups.map((title) => ({ title, members: working.filter(([, { group }]) => group === title) })),
    {
      title: 'Accepted and ignored',
      introduction: 'For start scripts that were written for Orion. A line at the start names those that were given.',
      members: all.filter(([, { kind }]) => kind === 'ignored'),
    },
    {
      title: 'Refused',
      introduction: 'An operator would notice too late that these do nothing, so they end the start with exit code 1.',
      members: all.filter(([, { kind }]) => kind === 'refused'),
    },
  ].filter(({ members }) => members.length > 0)
}

/** Every flag, from the tables that the command line is parsed with; each has its name as its anchor [management 9.2]. */
export function flagsPage(flagGroups, flagsByName, flagRules) {
  const sections = flagSections(flagGroups, flagsByName)
  const links = sections.map(({ title }) => `<li><a href="#${groupAnchor(title)}">${escaped(title)}</a></li>`)
  return pageOf(
    'flags',
    `<header><h1>Flags</h1>
<p>${escaped(flagRules)}</p>
<p>What this broker runs with: <code>GET /admin/config</code>. The interfaces: <a href="/docs">/docs</a>.</p></header>
<nav><ul>${links.join('')}</ul></nav>
<main>${sections.map((section) => sectionMarkup(section, flagsByName)).join('\n')}</main>`,
  )
}

/** Apart from those of flags: one of them may be called as its group is. */
function groupAnchor(title) {
  return `group-${title.toLowerCase().replaceAll(' ', '-')}`
}

function sectionMarkup({ title, introduction, members }, flagsByName) {
  const said = introduction === undefined ? '' : `<p>${escaped(introduction)}</p>`
  return `<section id="${groupAnchor(title)}"><h2>${escaped(title)}</h2>${said}<dl>${members.map((member) => flagMarkup(member, flagsByName)).join('\n')}</dl></section>`
}

function flagMarkup([name, flag], flagsByName) {
  const takes = 'takes' in flag && flag.takes !== undefined ? ` <code>${escaped(flag.takes.shown)}</code>` : ''
  const facts = [
    ...(flag.kind === 'value' ? [`default ${escaped(flag.shownDefault)}`] : []),
    ...(flag.kind === 'switch' ? ['default off'] : []),
    ...(flag.variable === undefined ? [] : [`variable <code>${escaped(flag.variable)}</code>`]),
  ]
  const own = escaped(name)
  return `<div id="${own}"><dt><a href="#${own}"><b>-${own}</b></a>${takes} <i>${facts.join(', ')}</i></dt><dd><p>${meaningMarkup(flag.meaning, flagsByName)}</p></dd></div>`
}

/** What a flag means; other flags that it names are links. */
function meaningMarkup(meaning, flagsByName) {
  return escaped(meaning).replace(/(^|[^\w-])-([a-zA-Z]\w*)/g, (said, before, name) =>
    flagsByName.has(name) ? `${before}<a href="#${name}">-${name}</a>` : said,
  )
}
