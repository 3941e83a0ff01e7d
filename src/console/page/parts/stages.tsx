/** A stage of a request; `tone` is the class of its colour, which is the same wherever the stage is shown. */
export interface Stage {
  readonly name: string
  readonly tone: string
  readonly title: string
}

/** The stages of a request in the order in which it passes them, as `/admin/slow` names them. */
export const stages = [
  { name: 'read', tone: 'tone-read', title: 'Its body is received' },
  { name: 'permit', tone: 'tone-permit', title: 'Waits for a permit to work (-reqPoolSize)' },
  { name: 'parse', tone: 'tone-parse', title: 'Its payload is parsed in the HTTP thread' },
  { name: 'mailbox', tone: 'tone-mailbox', title: 'Waits in the mailbox of its partition' },
  { name: 'decide', tone: 'tone-decide', title: 'Its turn is decided, with all other requests in it' },
  { name: 'commit', tone: 'tone-commit', title: 'Its turn is logged, synced and applied; of the slowest partition' },
  { name: 'handle', tone: 'tone-handle', title: 'Waits for a read handle of its partition (-dbPoolSize)' },
  { name: 'operation', tone: 'tone-operation', title: 'The rest of its operation: other partitions, scans, providers' },
  { name: 'render', tone: 'tone-render', title: 'Its response is rendered' },
] as const satisfies readonly Stage[]

/** The stage of a name. */
export function stageOf(name: (typeof stages)[number]['name']): Stage {
  const [stage] = stages.filter((each) => each.name === name)
  if (stage === undefined) throw new Error(`there is no stage ${name}`)
  return stage
}

/** The colour of a stage, for those who see it; its name stands beside it. */
export function StageSwatch({ tone }: Pick<Stage, 'tone'>) {
  return <i class={`stage ${tone}`} aria-hidden="true" />
}
