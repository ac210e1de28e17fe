#include "hwdesc/reference.h"

#include "hwdesc/field_tree.h"
#include "hwdesc/print.h"
#include "support/yaml.h"

namespace assay::hwdesc {

namespace {

constexpr const char* kBegin = R"(# The profile format: assay/profile/1

A profile says what a chip is, as numbers with unit and origin. This page is generated from the
table that also reads, prints and checks profiles:
`assay profile schema --format markdown > docs/profile.md`. `assay profile schema` writes the same
table as a JSON Schema. An editor with yaml-language-server uses it after
`# yaml-language-server: $schema=profile.schema.json` in the first line of a file.

## How values are written

A value is a bare quantity, `900 GB/s`, or a record. An absent value and `unknown` mean the same:
nobody knows. A record can say why.

| key | meaning |
|---|---|
| `value` | the quantity, or `unknown` |
| `low`, `high` | the 90 % interval of a measured value |
| `n` | number of samples |
| `source` | its origin; without it the profile's own `source` |
| `method` | how it was found |
| `ref` | a key of `references` |
| `note` | what a reader should know |

```yaml
latency: {value: 90 ns, low: 80 ns, high: 110 ns, n: 30, source: measured, method: random chase}
write: {value: unknown, note: no published measurement}
```

| source | meaning |
|---|---|
| `measured` | measured here |
| `driver` | reported by the driver |
| `datasheet` | published by the vendor |
| `paper` | somebody else's measurement, in any publication |
| `fitted` | fitted to data |
| `derived` | computed from other values, or changed by an override |
| `assumed` | nobody measured it |

A quantity is a number, a space and a unit of its kind. Case matters: kB is 1000 B, KiB is 1024 B.
A quantity counted in clock ticks names its clock, one of `clocks`.

| kind | units |
|---|---|
)";

constexpr const char* kMiddle = R"(
Counts, capacities, rates and bandwidths are per instance of `per`, never totals of the chip. A path
addresses an entry of a list by name, as in `memory.l2.capacity`, or by the key shown in <> below.
Spaces, comments and the order of keys do not change a profile: its hash is that of its canonical
form (`assay profile show --format hash`).

`assay profile show --format json` gives a list with an object for each value that is not absent:
`path`; `value`, a number in the base unit, or null where it is unknown; `unit`, one of `B`, `B/s`,
`/s`, `s`, `Hz`, `W`, `J`, per tick `B/cycle@core`, `/cycle@core` and `cycles@core`, or `1` for
counts and ratios; `text`, the same as it is written; and `interval` (low, high), `source`,
`method`, `ref` and `note` where they are known. Words have a text as `value`, and no unit.

## Extending another profile

```yaml
schema: assay/profile/1
name: my-idea
extends: nvidia/a100-sxm4-40gb        # a file beside this one, or a name of the library
memory:
  - {name: hbm, capacity: 80 GB}      # merged by name; fields not given are the parent's
  - !remove {name: host}              # removes an entry
overrides:                            # last: path=value, path*=number, path+=value; * is any name
  - memory.hbm.bandwidth*=2
  - topology.unit.count=64
```

`assay profile check` notes inherited values that depend on something the profile changes: a latency
in ns where the core clock is another, the latency of memory with another bandwidth, a launch on a
chip of another class. A value of its own, or `unknown`, ends the note.

## Fields

In the order in which they are printed. "yes" under *must* means that an entry without the field is
an error, unless the profile extends one that gives it.
)";

std::string type_of(const FieldNode& f) {
  switch (f.kind) {
    case FieldKind::value: {
      const std::string kind = name_of(f.dimension);
      return kind.substr(kind.find(' ') + 1);
    }
    case FieldKind::word:
      return "word";
    case FieldKind::number:
      return "whole number";
    case FieldKind::fact:
      return "`true`, `false`, `unknown`";
    case FieldKind::words:
      return "list of words";
    case FieldKind::texts:
      return "map of texts";
    case FieldKind::part:
      return "map";
    case FieldKind::entries:
      return "list";
    case FieldKind::named:
      return "map by name";
    case FieldKind::values: {
      const std::string kind = name_of(f.dimension);
      return "map by name to " + kind;
    }
    case FieldKind::choice:
      break;
  }
  std::string out;
  for (const std::string& c : f.choices) out += (out.empty() ? "`" : ", `") + c + "`";
  return out;
}

// The usual units; the table of units lists all.
std::string unit_of(const FieldNode& f) {
  if (f.kind != FieldKind::value && f.kind != FieldKind::values) return "";
  switch (f.dimension) {
    case Dimension::bytes:
      return "B, KiB, GB";
    case Dimension::bandwidth:
      return "GB/s, B/cycle@core";
    case Dimension::rate:
      return "/cycle@core";
    case Dimension::latency:
      return "cycles@core, ns";
    case Dimension::seconds:
      return "us";
    case Dimension::hertz:
      return "MHz";
    case Dimension::watts:
      return "W";
    case Dimension::joules:
      return "pJ";
    case Dimension::count:
    case Dimension::ratio:
      return "";
  }
  return "";
}

// Escapes bars, which end a cell, and <...>, which Markdown reads as HTML.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("|<>", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void add_rows(std::string& out, const FieldNode& f, const std::string& path) {
  out += "| `" + path + "` | " + type_of(f) + " | " + unit_of(f) + " | " +
         (f.required ? "yes" : "") + " | " + cell(f.doc) + " |\n";
  const std::string below = f.entry_key.empty() ? path : path + "." + f.entry_key;
  for (const FieldNode& inner : f.fields) add_rows(out, inner, below + "." + inner.key);
}

std::string example_of(const yaml::Node& root, const std::string& key) {
  const yaml::Node* given = root.find(key);
  if (given == nullptr) return "";
  yaml::Node map = yaml::map();
  put(map, key, *given);
  return "\n```yaml\n" + yaml::print(map) + "```\n";
}

std::string unit_table() {
  std::string out;
  for (const Dimension d :
       {Dimension::bytes, Dimension::bandwidth, Dimension::rate, Dimension::latency,
        Dimension::seconds, Dimension::hertz, Dimension::watts, Dimension::joules, Dimension::count,
        Dimension::ratio}) {
    std::string units;
    for (const std::string& u : units_of(d)) units += (units.empty() ? "`" : ", `") + u + "`";
    const std::string name = name_of(d);
    out +=
        "| " + name.substr(name.find(' ') + 1) + " | " + (units.empty() ? "none" : units) + " |\n";
  }
  return out;
}

}  // namespace

std::string reference_page(const Profile& example) {
  const auto printed = yaml::parse(print_profile(example), "example");
  ASSAY_CHECK(printed.ok());
  std::string out = kBegin + unit_table() + kMiddle;
  for (const FieldNode& f : field_tree()) {
    out +=
        "\n### `" + f.key + "`\n\n| path | type | unit | must | meaning |\n|---|---|---|---|---|\n";
    add_rows(out, f, f.key);
    out += example_of(printed->root, f.key);
  }
  return out;
}

}  // namespace assay::hwdesc
