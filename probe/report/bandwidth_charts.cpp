#include "probe/report/chart_table.h"
#include "probe/report/marks.h"

namespace assay::probe {

std::vector<ChartRow> bandwidth_charts() {
  const Axis all_units = log_axis("read, all units", Kind::bytes_per_second),
             other_data = log_axis("bytes of other data", Kind::bytes);
  return in_section(
      "Bandwidth",
      {
          latency_chart(
              "Write policy", {"write_policy", ""}, {"", {}, "level"},
              log_axis("time of a pass", Kind::seconds),
              "Other memory evicts a footprint from a cache; then it is read, written and read "
              "again, or only some of it. If (written - write) equals (warm - cold), stores "
              "allocate."),
          duration_chart(
              "Copies between host and device", {"host", ""},
              {"bytes", log_axis("bytes of a copy", Kind::bytes)},
              log_axis("time of a copy", Kind::seconds),
              "Copies to the device and from it, timed by the host. Small ones show the cost "
              "of a call, large ones the bandwidth."),
          duration_chart("Vectors within and across lines", {"transfer", "within across"},
                         {"lanes", log_axis("lanes of a vector", Kind::count)},
                         log_axis("time of one load", Kind::seconds),
                         "Vector loads at the beginning of every 128 bytes, and across their end."),
          rate_chart("Texels of images", {"image", "read read_plain"},
                     {"texel", linear_axis("numbers of a texel; 0: global memory", Kind::count)},
                     linear_axis("all groups", Kind::bytes_per_second),
                     "All groups read the same 16 KiB repeatedly."),
          marked(mark_cyclic_scan,
                 rate_chart(
                     "Cyclic scan, all units", {"cyclic_scan", "read"},
                     {"bytes", log_axis("bytes of each unit", Kind::bytes)}, all_units,
                     "All units read their own part from end to end, repeatedly. Bands: hit rates "
                     "from 90 % to 10 % of a cache; the line in a band is a hit rate of 50 %.")),
          rate_chart("Eviction by co-tenants, all units", {"retention", "pause"},
                     {"idle", log_axis("pause", Kind::seconds)}, all_units,
                     "All units read what each wrote once, after a pause of dependent additions. "
                     "Co-tenants of the machine evict lines meanwhile."),
          rate_chart(
              "Single-use retention, all units", {"retention", "single_use"}, {"bytes", other_data},
              all_units,
              "All units read what each wrote once, after single-use reads of other data. Some "
              "caches evict single-use lines first."),
          rate_chart("Reuse retention, all units", {"retention", "reused"}, {"bytes", other_data},
                     all_units,
                     "The same, of data that all units have read and written a few times before."),
          separate(rate_chart(
              "Bandwidth of the caches", {"bandwidth", ""},
              {"bytes", log_axis("bytes of each unit", Kind::bytes), "units"},
              log_axis("all units", Kind::bytes_per_second),
              "Streams inside each level, with one unit and with all. Copies count bytes read "
              "plus bytes written. short_run_: runs of 256 bytes, one in each row.")),
          marked(mark_power_mean,
                 rate_chart(
                     "Bandwidth of far memory by units", {"far", ""},
                     {"units", linear_axis("active units", Kind::count)},
                     linear_axis("all units", Kind::bytes_per_second),
                     "A buffer far larger than the caches, divided among the units and read chunk "
                     "by chunk. _stream: non-temporal stores.")),
          heat_map(
              rate_chart("Loads and stores from 16 KiB", {"access", ""},
                         {"lanes", log_axis("lanes of a vector", Kind::count)},
                         log_axis("one unit", Kind::bytes_per_second),
                         "Vector accesses that hit the nearest memory; gathers and scatters with "
                         "lanes in different vectors; splats of one element.")),
          duration_chart(
              "Scratchpad", {"group_memory", ""}, {},
              log_axis("time of a load, or of a byte", Kind::seconds),
              "A chase through 16 KiB of a group's scratchpad, and a stream through the same."),
          duration_chart(
              "Bank conflicts of the scratchpad", {"scratch", "stride"},
              {"stride", log_axis("words from lane to lane", Kind::count)},
              log_axis("time of a load of all lanes", Kind::seconds),
              "Loads from the scratchpad. Lanes that address one bank in different rows are "
              "serialised."),
          latency_chart(
              "Scratchpad after other memory was read", {"scratch", "after"},
              {"bytes", linear_axis("bytes read in between", Kind::bytes), "hops"},
              log_axis("time of an iteration", Kind::seconds),
              "Reading other memory, with and without hops through the scratchpad. If it is on "
              "the chip, the hops take the same time whatever was read."),
      });
}

}  // namespace assay::probe
