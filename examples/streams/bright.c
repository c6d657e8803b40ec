/* A task of a stream: of each piece, the bytes that are at least as bright as its parameter; at the end of all, nothing more. */
#include <bitline/isc.h>

static uint8_t piece[1 << 18];

int isc_task(void) {
  uint8_t least = 0;
  isc_get_args(&least, 1);
  int64_t got;
  while ((got = isc_stream_next(piece, sizeof piece, NULL)) > 0) {
    size_t kept = 0;
    for (int64_t at = 0; at < got; at++)
      if (piece[at] >= least) piece[kept++] = piece[at];
    int64_t error = isc_stream_emit(piece, kept);
    if (error < 0) return isc_failed("emit", error);
  }
  return got < 0 ? isc_failed("next", got) : 0;
}
