// One HTML page with charts and tables. It is self-contained: styles, script, data and the chart
// library are in it, nothing is fetched. Tables are plain HTML and readable without a script. Pure:
// the same input gives the same bytes.
#pragma once

#include <string>
#include <vector>

#include "support/page/chart.h"

namespace assay::page {

struct Section {
  std::string title, body;  // the body is HTML
};

struct Page {
  std::string title, kind, heading;
  std::string about;  // HTML under the heading
  std::vector<Section> sections;
  std::vector<Chart> charts;  // those whose canvases the sections have
  std::string footer;         // HTML
};

std::string page_html(const Page& page);

using Cells = std::vector<std::string>;  // HTML

// `values`: on narrow screens each row becomes a block, with the column's name before each cell.
// `grid`: its cells are not broken, so it may need a scrolling <div class="wide"> around it.
std::string table_of(const Cells& head, const std::vector<Cells>& rows,
                     const char* style = "values");

// An entry of a <dl class="about">; empty: there is no text.
std::string list_item(const std::string& name, const std::string& text);

}  // namespace assay::page
