#include "probe/report/chart_table.h"
#include "probe/report/marks.h"

namespace assay::probe {

std::vector<ChartRow> latency_charts() {
  const Axis load = log_axis("time of one load", Kind::seconds),
             footprint = log_axis("footprint", Kind::bytes);
  return in_section(
      "Latency of memory",
      {
          marked(mark_levels,
                 latency_chart(
                     "Latency by footprint", {"chase knees", "chase"}, {"bytes", footprint}, load,
                     "A random pointer chase on one unit through every line of the footprint. The "
                     "line is the 10 % quantile at each footprint. Level pieces are the plateaus "
                     "found, bands the knees between them.")),
          separate(latency_chart("Latency in the middle of each level", {"latency", "chase"},
                                 {"bytes", footprint}, load,
                                 "The same chase at one footprint well inside each level.")),
          marked(mark_line,
                 latency_chart(
                     "Cache line size", {"line", "pair"},
                     {"distance", log_axis("distance of the two loads", Kind::bytes)},
                     linear_axis("time of a pair", Kind::seconds),
                     "A chase that loads two words of each node. Within a line the second load "
                     "costs next to nothing.")),
          marked(mark_tlb,
                 latency_chart(
                     "Address translation", {"tlb", "pages"},
                     {"nodes", log_axis("lines loaded", Kind::count), "stride"}, load,
                     "The same number of lines: adjacent, one per page, and one per 17 pages. "
                     "Where the curves separate, the TLB no longer holds all translations.")),
          marked(mark_rows,
                 latency_chart(
                     "TLB conflicts of matrix rows", {"tlb", "rows"},
                     {"nodes", log_axis("rows", Kind::count), "stride"}, load,
                     "A random cycle through one line of each row, for several row lengths. "
                     "Which rows miss the second-level TLB depends on its set index. Band: a "
                     "tenth to nine tenths of them miss on average.")),
          separate(latency_chart(
              "Overlapped TLB misses", {"tlb", "passing"},
              {"nodes", log_axis("loads", Kind::count), "stride"}, load,
              "Independent vector loads, of one line per page and of adjacent lines.")),
          latency_chart(
              "Unit of transfer", {"transfer", "pair"},
              {"distance", log_axis("distance of the two loads", Kind::bytes), "level"}, load,
              "Pairs of loads, the first of which the level serves. Within a unit of transfer "
              "the second costs next to nothing."),
          latency_chart(
              "Line size from capacity", {"transfer", "span"},
              {"stride", log_axis("distance of nodes", Kind::bytes), "level"}, load,
              "Nodes that span 1.5 times the first cache. Once their stride exceeds a line, "
              "fewer lines are used and all of them fit."),
          latency_chart(
              "Associativity", {"ways", "lines"},
              {"lines", log_axis("lines", Kind::count), "stride"}, load,
              "Chases through a few lines a power of two from each other, which map to one set "
              "of a cache. One more than its ways, and they miss."),
          latency_chart(
              "Lines at a stride of one page", {"ways", "pages"},
              {"lines", log_axis("lines", Kind::count), "stride"}, load,
              "Chases through lines 4 KiB from each other, which map to few sets. The time "
              "rises where a level holds no more of them."),
          separate(latency_chart(
              "Set conflicts", {"ways", "set_conflict set_conflict_dirty"},
              {"lines", log_axis("lines", Kind::count), "stride"},
              log_axis("time of each access", Kind::seconds),
              "Independent vector loads of the first line of each page, which share few "
              "sets, and of adjacent lines; and stores to parts of those first lines.")),
          latency_chart(
              "Outstanding misses", {"outstanding", "chases"},
              {"chains", log_axis("independent chases", Kind::count), "level groups"},
              log_axis("time of one hop", Kind::seconds),
              "Independent pointer chases. The time of a hop falls until no more misses can be "
              "outstanding, or the bandwidth is reached."),
          marked(mark_loaded,
                 latency_chart("Loaded latency", {"loaded_latency", ""},
                               {"slower", linear_axis("bandwidth of all other groups",
                                                      Kind::bytes_per_second)},
                               load,
                               "One group chases while all others stream through the same level at "
                               "decreasing rates. Where the curve rises, loads queue.")),
          latency_chart(
              "Constants and global memory", {"constant", "chase plain"}, {"bytes", footprint},
              load,
              "The same chase through an argument in the language's constant space and through "
              "a global one. Where both agree, constants have no cache of their own."),
          latency_chart(
              "Constants at uniform and divergent addresses", {"constant", "lanes"},
              {"divergent", linear_axis("1: each lane has an address of its own", Kind::count)},
              load, "All lanes of a wave follow one chase, or each begins at a node of its own."),
          latency_chart(
              "Images and global memory", {"image", "chase plain"}, {"bytes", footprint}, load,
              "A random cycle through the blocks of an image, and one through the lines of a "
              "global argument of the same size."),
          latency_chart(
              "Texels per block", {"image", "across down"},
              {"distance", log_axis("texels between two loads", Kind::count)}, load,
              "Pairs of loads of an image. Within a block the second costs next to nothing."),
          latency_chart(
              "Private or shared", {"sharing", "chase"},
              {"units", linear_axis("active units", Kind::count), "level"}, load,
              "Each unit chases through its own 0.7 of a cache. A private cache is as fast "
              "with all units as with one."),
      });
}

}  // namespace assay::probe
