/* Runs one kernel so many rounds: `main_native NAME ROUNDS`. With 0 rounds it does all else, which is subtracted. */
#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kind of work of bytes that are copied and filled, by the C library. */
static uint64_t k_copy(uint64_t rounds) {
  static char from[BYTES], to[BYTES];
  for (uint64_t r = 0; r < rounds; r++) {
    __asm__ volatile("" ::"r"(from), "r"(to) : "memory"); /* may have changed, and is looked at */
    memcpy(to, from, BYTES);
  }
  return 0;
}

#define ENTRY(name) {#name, k_##name},
static const struct {
  const char *name;
  uint64_t (*run)(uint64_t);
} ALL[] = {KERNELS(ENTRY) ENTRY(copy)};

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++)
    if (strcmp(ALL[i].name, argv[1]) == 0) {
      prepare();
      printf("%016llx\n", (unsigned long long)ALL[i].run(strtoull(argv[2], NULL, 10)));
      return 0;
    }
  return 2;
}
