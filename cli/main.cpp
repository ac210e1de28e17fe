// The program `assay`.
#include "cli/command.h"
#include "cli/console/entry.h"

int main(int argc, char** argv) {
  return assay::console::enter("assay", argc, argv, assay::cli::run_words);
}
