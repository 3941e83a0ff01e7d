/** The style of the reference page: one column, light or dark as the reader's system is. */
export const referenceStyle = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #06c; }
@media (prefers-color-scheme: dark) { :root { --link: #7bf; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
a { color: var(--link); }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
h3 { margin: 1rem 0 .25rem; }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: 0 .75rem; }
details[open] { padding-bottom: .75rem; }
summary { cursor: pointer; padding: .5rem 0; }
summary b { font: bold .85rem ui-monospace, monospace; display: inline-block; min-width: 4.2rem; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; background: var(--soft); border-radius: .25rem; }
code { padding: 0 .2rem; }
summary code { background: none; }
pre { padding: .6rem; overflow-x: auto; white-space: pre; overflow-wrap: normal; }
dl { margin: .25rem 0; }
dt { margin-top: .4rem; }
dd { margin: 0 0 0 .25rem; padding-left: .75rem; border-left: 2px solid var(--line); }
p { margin: .25rem 0; }
i { opacity: .75; }
:target { background: var(--soft); outline: 2px solid var(--link); outline-offset: .25rem; }
`
