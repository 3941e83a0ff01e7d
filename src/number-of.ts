/** A number of things for people: `1 partition`, `6 entities`. */
export function numberOf(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}
