// Cuts what is computed of a whole sequence at once into pieces along time.
//
// Why: the input products of a recurrent layer are one product over all time steps, which waits for
// the last step of the layer below. Of pieces, each waits for its own steps, so that layers run
// side by side, each a piece behind the one below.
// Left alone: sequences that some node reads as a whole, and products of what no recurrence makes.
// Source: Appleyard, Kocisky, Blunsom (2016), section 3.3: layers in wavefronts over time.
#pragma once

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

struct CutSequences {
  LaidOut laid;
  bool found = false;  // something that can be cut
};

// Row-major tensors are cut. Each into `pieces` of about as many slices of its readers, or into one
// per slice where there are fewer; 1: none is.
CutSequences cut_sequences(LaidOut laid, int pieces);

}  // namespace assay::compiler
