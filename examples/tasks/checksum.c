/* The checksum of a file: Listing 1 of TxISC (DATE 2025).
 *
 * Arguments: the numbers of the input and the output file, 2 x int32. Both the output file's first four bytes and
 * the return value get the CRC-32 (IEEE 802.3, as zlib's) of all bytes of the input. The twin is checksum.py. */
#include <bitline/isc.h>

/* How much of the file is in memory at a time. */
#define PIECE_BYTES (64 << 10)

static uint32_t table[256];

static void make_table(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0);
    table[byte] = rest;
  }
}

static uint32_t add(uint32_t crc, const uint8_t *bytes, int64_t count) {
  for (int64_t at = 0; at < count; at++) crc = crc >> 8 ^ table[(crc ^ bytes[at]) & 0xff];
  return crc;
}

int isc_task(void) {
  int32_t id[2];
  if (isc_get_args(id, sizeof id) != sizeof id) return isc_failed("two file numbers as arguments", -ISC_EINVAL);
  uint8_t *piece = isc_malloc(PIECE_BYTES);
  if (!piece) return isc_failed("memory for a piece", -ISC_ENOSPC);
  make_table();
  uint32_t crc = ~0u;
  int64_t got;
  while ((got = isc_file_read(id[0], piece, PIECE_BYTES)) > 0) crc = add(crc, piece, got);
  if (got < 0) return isc_failed("read", got);
  crc = ~crc;
  int64_t put = isc_file_write(id[1], &crc, sizeof crc);
  if (put < 0) return isc_failed("write", put);
  return isc_put_ret(&crc, sizeof crc);
}
