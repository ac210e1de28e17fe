#!/bin/sh
# The kernel compiler of a run under the thread sanitizer, as $CXX: kernels are watched, too.
exec g++ -fsanitize=thread "$@"
