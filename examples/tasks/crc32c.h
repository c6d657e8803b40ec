/* CRC-32C (Castagnoli), eight bytes at a time, and LevelDB's masked form of it. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What byte b does to the sum when i more bytes follow: tables[i][b]. */
static uint32_t crc32c_tables[8][256];

static void crc32c_prepare(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0x82f63b78u : 0);
    crc32c_tables[0][byte] = rest;
  }
  for (int i = 1; i < 8; i++)
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t before = crc32c_tables[i - 1][byte];
      crc32c_tables[i][byte] = before >> 8 ^ crc32c_tables[0][before & 0xff];
    }
}

static uint32_t crc32c(const uint8_t *at, size_t count) {
  uint32_t crc = ~0u;
  for (; count >= 8; at += 8, count -= 8) {
    uint32_t low, high;
    memcpy(&low, at, 4);
    memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = crc32c_tables[7][low & 0xff] ^ crc32c_tables[6][low >> 8 & 0xff] ^ crc32c_tables[5][low >> 16 & 0xff] ^
          crc32c_tables[4][low >> 24] ^ crc32c_tables[3][high & 0xff] ^ crc32c_tables[2][high >> 8 & 0xff] ^
          crc32c_tables[1][high >> 16 & 0xff] ^ crc32c_tables[0][high >> 24];
  }
  for (; count > 0; at++, count--) crc = crc >> 8 ^ crc32c_tables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

/* As it is stored: sums of data with sums in them would be weak (LevelDB, util/crc32c.h). */
static uint32_t crc32c_masked(const uint8_t *at, size_t count) {
  uint32_t crc = crc32c(at, count);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
