// What embed.cmake writes at build time: the text of every file of hw_profiles/.
#pragma once

#include <span>

#include "hwdesc/library.h"

namespace assay::hwdesc {

std::span<const LibraryEntry> embedded_files();

}  // namespace assay::hwdesc
