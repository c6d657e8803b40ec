/* The checksum of a file, calculated inside the drive: the host's half of Listing 1 of TxISC (DATE 2025).
 *
 * The drive's half is tasks/checksum.c, the same in Rust task_host.rs. To build and run it:
 *
 *     bitline cc examples/tasks/checksum.c -o checksum.wasm
 *     make c
 *     clang-19 examples/task_host.c -I target/c/include -L target/c/lib -lbitline_c -Wl,-rpath,$PWD/target/c/lib -o task_host
 *     ./task_host checksum.wasm README.md
 */
#include <bitline/host.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs that are in flight together. */
#define RUNS 4

static void check(const char *step, int64_t told) {
  if (told >= 0) return;
  fprintf(stderr, "%s: %s\n", step, isc_error_text());
  exit(1);
}

/* The bytes of a file of this machine. */
static void *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  size_t room = 1 << 16;
  char *data = malloc(room);
  if (!file || !data) {
    perror(path);
    exit(1);
  }
  *bytes = 0;
  for (size_t got; (got = fread(data + *bytes, 1, room - *bytes, file)) > 0;) {
    *bytes += got;
    if (*bytes < room) continue;
    data = realloc(data, room *= 2);
    if (!data) exit(1);
  }
  fclose(file);
  return data;
}

/* A context that has the task put the checksum of "in" into "out". */
static isc_context *prepared(isc_drive *drive) {
  isc_context *context;
  check("context", isc_new_context(drive, &context));
  int32_t id[2];
  check("input", id[0] = isc_register_file(context, "in", "r"));
  check("output", id[1] = isc_register_file(context, "out", "w"));
  check("arguments", isc_put_args(context, id, sizeof id));
  return context;
}

/* Says how a run ended; gives the checksum. */
static uint32_t told(isc_context *context, int status) {
  check("run", status);
  if (status != ISC_COMMITTED) {
    char reason[256];
    check("reason", isc_get_reason(context, reason, sizeof reason));
    fprintf(stderr, "status %d: %s\n", status, reason);
    exit(1);
  }
  uint32_t sum = 0;
  isc_usage usage;
  check("value", isc_get_ret(context, &sum, sizeof sum));
  check("usage", isc_get_usage(context, &usage));
  printf("%08" PRIx32 ", attempts: %" PRIu32 "\n", sum, usage.attempts);
  return sum;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s MODULE FILE\n", arguments[0]);
    return 2;
  }
  size_t module_bytes, bytes;
  void *module = read_file(arguments[1], &module_bytes), *data = read_file(arguments[2], &bytes);

  isc_drive *drive;
  isc_task checksum;
  const uint32_t nothing = 0;
  check("drive", isc_open_drive("preset = \"flash-cosmos\"", NULL, &drive));
  check("write", isc_volume_write(drive, "in", data, bytes));
  check("write", isc_volume_write(drive, "out", &nothing, sizeof nothing));
  check("task", isc_load_task(drive, module, module_bytes, 0, &checksum));

  isc_context *context = prepared(drive);
  uint32_t sum = told(context, isc_run_task(context, checksum));
  check("free", isc_free_context(context));

  /* Many in flight: they write the same bytes, so that all but the first one conflict, and are begun anew. */
  isc_context *runs[RUNS];
  for (int run = 0; run < RUNS; run++) {
    runs[run] = prepared(drive);
    check("retries", isc_set_retries(runs[run], 100));
    check("submit", isc_submit_task(runs[run], checksum));
  }
  for (int run = 0; run < RUNS; run++) {
    if (told(runs[run], isc_wait_task(runs[run])) != sum) return 1;
    check("free", isc_free_context(runs[run]));
  }

  uint32_t stored = 0;
  check("read", isc_volume_read(drive, "out", &stored, sizeof stored, 0));
  check("close", isc_close_drive(drive));
  free(module), free(data);
  return stored != sum;
}
