import { Chip, type Tone } from '../parts/small-parts.js'

const tones: Readonly<Record<string, Tone>> = { active: 'good', oneshot: 'good', failed: 'bad', expired: 'warning' }

/** The status of a subscription or a registration. */
export function StatusChip({ status }: { readonly status: string }) {
  return <Chip tone={tones[status] ?? 'plain'}>{status}</Chip>
}
