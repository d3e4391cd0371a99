// Scales, their ticks, and numbers as the rest of the report prints them.

const THIN = "\u202f", NBSP = "\u00a0", DASH = "\u2013";
const UNITS = [[1, "B"], [1e3, "kB"], [2 ** 10, "KiB"], [1e6, "MB"], [2 ** 20, "MiB"],
  [1e9, "GB"], [2 ** 30, "GiB"]];

// Three significant digits, never an exponent.
function number(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return DASH;
  if (value === 0) return "0";
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return grouped(value.toFixed(Math.min(decimals, 20)));
}

function grouped(text) {
  const [whole, part] = text.split(".");
  const thousands = whole.replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, THIN);
  return part === undefined ? thousands : `${thousands}.${part}`;
}

// Bytes in the largest unit that divides them.
function size(bytes) {
  const [unit, name] = UNITS.findLast(([one]) => one === 1 || (bytes > 0 && bytes % one === 0));
  return `${bytes / unit}${NBSP}${name}`;
}

// The unit with which the title of an axis ends, "" without one.
function unit(axis) {
  return /\(([^()]+)\)$/.exec(axis.title)?.[1] ?? "";
}

// A value of an axis in words: bytes, or a number with the unit of the axis.
function axisText(value, axis) {
  const named = unit(axis);
  if (named === "bytes") return size(value);
  return named ? `${number(value)}${NBSP}${named}` : number(value);
}

// A scale from values [lo, hi] to pixels [from, to], and back.
function scale(lo, hi, log, from, to) {
  const place = log ? Math.log10 : (value) => value;
  const low = place(lo), span = place(hi) - low || 1;
  return {
    lo, hi, log,
    at: (value) => from + (to - from) * (place(value) - low) / span,
    of: (pixel) => {
      const found = low + span * (pixel - from) / (to - from);
      return log ? 10 ** found : found;
    },
  };
}

// About `count` values between lo and hi that read well.
function ticks(one, count, axis) {
  const own = (axis.ticks ?? []).filter((value) => value >= one.lo * (1 - 1e-9) && value <= one.hi * (1 + 1e-9));
  if (own.length > 1) return own;
  const binary = unit(axis) === "bytes" && Number.isInteger(Math.log2(axis.lo));
  const found = one.log ? powers(one.lo, one.hi, count, binary ? 2 : 10) : [];
  return found.length > 1 ? found : even(one.lo, one.hi, count, binary);
}

function powers(lo, hi, count, base) {
  const exponent = (value) => Math.log(value) / Math.log(base);
  const first = Math.ceil(exponent(lo) - 1e-9), last = Math.floor(exponent(hi) + 1e-9);
  const few = base === 10 && last - first < 2;
  const step = few ? 1 : [1, 2, 3, 5, 10, 20].find((one) => (last - first) / one < count) ?? 50;
  const found = [];
  for (let one = few ? first - 1 : first; one <= last; one += step) {
    found.push(...(few ? [1, 2, 5] : [1]).map((times) => clean(times * base ** one)));
  }
  return found.filter((value) => value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9));
}

function even(lo, hi, count, binary) {
  const least = (hi - lo) / count || 1, power = 10 ** Math.floor(Math.log10(least));
  const step = binary && least > 1 ? 2 ** Math.ceil(Math.log2(least))
    : power * [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9));
  const found = [];
  for (let at = Math.ceil(lo / step - 1e-9); at * step <= hi + step * 1e-9; at += 1) {
    found.push(clean(at * step));
  }
  return found.length || !(hi > lo) ? found : even(lo, hi, 2 * count, binary);
}

// Without the last bits that arithmetic leaves.
function clean(value) {
  return Number(value.toPrecision(12));
}

// The label of a tick: the axis' own one, else as short as it may be.
function label(value, axis) {
  const own = axis.labels?.[axis.ticks.indexOf(value)];
  if (own) return own;
  if (unit(axis) === "bytes") return value >= 1 && Number.isInteger(value) ? size(value) : number(value);
  return grouped(String(clean(value)).includes("e") ? number(value) : String(clean(value)));
}
