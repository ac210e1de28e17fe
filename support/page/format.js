// Numbers for people: what axes and tooltips say. The same rules as text.cpp has for tables.
'use strict';
const decimal = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const binary = [[2 ** 40, 'Ti'], [2 ** 30, 'Gi'], [2 ** 20, 'Mi'], [2 ** 10, 'Ki'], [1, '']];
const times = [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n'], [1e-12, 'p']];
const prefixed = (v, prefixes, unit) => {
  const [factor, text] = v === 0 ?
      [1, ''] :
      prefixes.find(p => Math.abs(v) >= p[0] * 0.9995) || prefixes[prefixes.length - 1];
  return `${Number((v / factor).toPrecision(3))} ${text}${unit}`;
};
const human = (v, kind) => {
  switch (kind) {
    case 'bytes':
      return prefixed(v, binary, 'B');
    case 'seconds':
      return prefixed(v, times, 's');
    case 'hertz':
      return prefixed(v, decimal, 'Hz');
    case 'per_second':
      return prefixed(v, decimal, '/s');
    case 'bytes_per_second':
      return prefixed(v, decimal, 'B/s');
    case 'share':
      return `${Number((100 * v).toPrecision(3))} %`;
    default:
      return String(Number(v.toPrecision(6)));
  }
};
