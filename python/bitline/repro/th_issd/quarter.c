/* A stream beside which host reads are measured (3.3): of each piece the first quarter is written into another file. */
#include <bitline/isc.h>

static uint8_t piece[1 << 18];

int isc_task(void) {
  int64_t got;
  while ((got = isc_stream_next(piece, sizeof piece, 0)) > 0) isc_stream_emit(piece, got / 4);
  return 0;
}
