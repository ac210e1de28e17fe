// fmt's library, compiled into this program: Debian has it as a shared object only, and a program
// for boards brings along what it needs. fmt's headers hold all of it as inline functions, which
// this file has compiled (CMakeLists.txt says how), so that nothing is left for the shared object.
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <fmt/format.h>
