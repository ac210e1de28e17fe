#!/bin/sh
# A compiler for an older processor than this one: $ASSAY_TEST_LESS are its last options.
exec c++ "$@" $ASSAY_TEST_LESS
