/* The bright bytes of a file, picked inside the drive while they are read: the host's half, by the calls of TH-iSSD's Table 1.
 *
 * The drive's half is streams/bright.c, the same in Python stream.py, in Rust stream_host.rs. To build and run it:
 *
 *     bitline cc examples/streams/bright.c -o bright.wasm
 *     make c
 *     clang-19 examples/stream_host.c -I target/c/include -L target/c/lib -lbitline_c -Wl,-rpath,$PWD/target/c/lib -o stream_host
 *     ./stream_host bright.wasm
 */
#include <bitline/host.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME_BYTES 640000
#define LEAST 250

static uint8_t frame[FRAME_BYTES], block[65536];

static int64_t check(const char *step, int64_t told) {
  if (told >= 0) return told;
  fprintf(stderr, "%s: %s\n", step, isc_error_text());
  exit(1);
}

int main(int count, char **words) {
  static uint8_t module[1 << 20];
  FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
  if (!file) {
    fprintf(stderr, "usage: %s bright.wasm\n", words[0]);
    return 2;
  }
  size_t module_bytes = fread(module, 1, sizeof module, file);
  fclose(file);

  uint64_t bright = 0, read = 0, sent = 0;
  for (size_t at = 0; at < FRAME_BYTES; at++) {
    frame[at] = (uint8_t)(at * 7 + at / 256);
    bright += frame[at] >= LEAST;
  }

  isc_drive *drive;
  check("drive", isc_open_drive(NULL, NULL, &drive));
  check("frame", isc_volume_write(drive, "frame", frame, FRAME_BYTES));
  isc_task task;
  check("reg_task", isc_load_task(drive, module, module_bytes, 0, &task));
  isc_context *context;
  check("context", isc_new_context(drive, &context));
  const uint8_t least = LEAST;
  check("send_params", isc_put_args(context, &least, 1));

  /* From a file: its bright bytes come as they are found. */
  int input = isc_register_file(context, "frame", "r");
  isc_stream *stream;
  check("fsopen", isc_fsopen(context, task, (int)check("file", input), ISC_HOST, &stream));
  for (int64_t got; (got = check("fsread", isc_fsread(stream, block, sizeof block))) > 0;) read += (uint64_t)got;
  check("fsclose", isc_fsclose(stream));

  /* Into a file: what is written passes through the task, and is there as a whole when it is finished. */
  check("picked", isc_volume_write(drive, "picked", frame, bright));
  int output = isc_register_file(context, "picked", "w");
  check("fsopen", isc_fsopen(context, task, ISC_HOST, (int)check("file", output), &stream));
  for (; sent < FRAME_BYTES; sent += 64000) check("fswrite", isc_fswrite(stream, frame + sent, 64000));
  check("fsfinish", isc_fsfinish(stream));
  check("fsclose", isc_fsclose(stream));
  check("read", isc_volume_read(drive, "picked", block, sizeof block, 0));
  for (size_t at = 0; at < sizeof block && at < bright; at++)
    if (block[at] < LEAST) return 1;

  printf("%" PRIu64 " of %d bytes are bright; %" PRIu64 " were read\n", bright, FRAME_BYTES, read);
  check("context", isc_free_context(context));
  check("drive", isc_close_drive(drive));
  return read == bright ? 0 : 1;
}
