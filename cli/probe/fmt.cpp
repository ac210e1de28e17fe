// fmt, compiled into this program: Debian has it only as a shared object, and a program for boards
// must need none. fmt's headers have all of it as inline functions, which the options in
// CMakeLists.txt emit here, so that nothing refers to the shared object.
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <fmt/format.h>
