// Parts of a page, embedded at build time from this folder and from Debian's libjs-chart.js.
// Internal to support/page.
#pragma once

#include <string_view>

namespace assay::page {

std::string_view page_frame();     // page.html: places are {{name}}
std::string_view page_style();     // page.css
std::string_view page_script();    // format.js and page.js
std::string_view chart_library();  // Chart.js, MIT licence

}  // namespace assay::page
