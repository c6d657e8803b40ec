/* What reading and writing LevelDB's table files (SSTables, doc/table_format.md of LevelDB) have in common. */
#ifndef SSTABLE_H
#define SSTABLE_H

#include "crc32c.h"
#include "snappy.h"
#include <bitline/isc.h>
#include <string.h>

#define FOOTER_BYTES 48
#define TRAILER_BYTES 5 /* behind each block: how it is compressed, and its masked CRC-32C */
#define MAGIC 0xdb4775248b80fb57ull

enum { PLAIN = 0, SNAPPY = 1 };

/* Bytes that grow. Memory that is not there ends the run, which is rolled back. */
struct bytes {
  uint8_t *at;
  size_t size, room;
};

static void bytes_reserve(struct bytes *bytes, size_t room) {
  if (room <= bytes->room) return;
  bytes->room = room + room / 2 + 64;
  bytes->at = realloc(bytes->at, bytes->room);
  if (!bytes->at) {
    isc_log("no memory for %zu bytes", room);
    __builtin_trap();
  }
}

static void bytes_append(struct bytes *bytes, const void *from, size_t count) {
  bytes_reserve(bytes, bytes->size + count);
  memcpy(bytes->at + bytes->size, from, count);
  bytes->size += count;
}

static void bytes_set(struct bytes *bytes, const void *from, size_t count) {
  bytes->size = 0;
  bytes_append(bytes, from, count);
}

static void bytes_varint(struct bytes *bytes, uint64_t value) {
  uint8_t out[10];
  unsigned count = 0;
  for (; value >= 0x80; value >>= 7) out[count++] = (uint8_t)(value | 0x80);
  out[count++] = (uint8_t)value;
  bytes_append(bytes, out, count);
}

/* Reads a varint before `end`; where it ends, or NULL if it does not. */
static const uint8_t *varint(const uint8_t *at, const uint8_t *end, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7, at++) {
    *value |= (uint64_t)(*at & 0x7f) << shift;
    if (*at < 0x80) return at + 1;
  }
  return NULL;
}

/* Where a block lies in its file, without its trailer. */
struct handle {
  uint64_t offset, size;
};

static const uint8_t *handle_read(const uint8_t *at, const uint8_t *end, struct handle *handle) {
  at = varint(at, end, &handle->offset);
  return at ? varint(at, end, &handle->size) : NULL;
}

static void handle_write(struct bytes *to, struct handle handle) {
  bytes_varint(to, handle.offset);
  bytes_varint(to, handle.size);
}

/* Internal keys: the user's key, then 8 bytes of sequence number (56 bits) and kind. */
enum { DELETION = 0, VALUE = 1 };

static uint64_t tag_of(const uint8_t *key, size_t size) {
  uint64_t tag;
  memcpy(&tag, key + size - 8, 8);
  return tag;
}

/* The order of users' keys: bytewise, a prefix first. */
static int compare_users(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size) {
  size_t least = (a_size < b_size ? a_size : b_size) - 8;
  int order = memcmp(a, b, least);
  return order ? order : (a_size > b_size) - (a_size < b_size);
}

/* The order of internal keys: of the same user's key the newest first. */
static int compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size) {
  int order = compare_users(a, a_size, b, b_size);
  if (order) return order;
  uint64_t a_tag = tag_of(a, a_size), b_tag = tag_of(b, b_size);
  return (a_tag < b_tag) - (a_tag > b_tag);
}

#endif
