/** A date as it is stored and compared: seconds since 1970, with decimals for milliseconds. */
export type Seconds = number

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d)(?:(:?)(\d\d)(?:(:?)(\d\d)(?:\.(\d+))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/

/** The longest date that is taken for one. */
const maxCharacters = 29

/**
 * The instant of an ISO 8601 date, in UTC unless it names its zone; fractions are cut to milliseconds [NGSIv2 context 3.3].
 * Nothing for what is no date: a 30th of February, a zone without a time, a year before 1900.
 */
export function parseDate(text: string): Seconds | undefined {
  if (text.length > maxCharacters) return undefined
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = 0, colon, minute = 0, otherColon = colon, second = 0, fraction = '', ...zone] =
    parts
  const [sign, zoneHour = 0, zoneMinute = 0] = zone
  if (otherColon !== colon) return undefined
  if (Number(year) < 1900 || Number(hour) > 23 || Number(zoneHour) > 23) return undefined
  if (Number(minute) > 59 || Number(second) > 59 || Number(zoneMinute) > 59) return undefined
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // A day that the month does not have would be taken for one of the next.
  if (!new Date(midnight).toISOString().startsWith(`${year}-${month}-${day}`)) return undefined
  const local = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const ahead = (Number(zoneHour) * 3600 + Number(zoneMinute) * 60) * (sign === '-' ? -1 : 1)
  return (midnight + (local - ahead) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))) / 1000
}
