/* Snappy's block format (google/snappy, format_description.txt), both ways.
 *
 * The length of the content as a varint, then elements: literal bytes, or copies of what was there some bytes ago. */
#ifndef SNAPPY_H
#define SNAPPY_H

#include <bitline/isc.h>
#include <string.h>

static uint32_t snappy_load(const uint8_t *at) {
  uint32_t word;
  memcpy(&word, at, 4);
  return word;
}

/* Bytes of the content, and where the elements begin; -1 where that cannot be told. */
static int64_t snappy_length(const uint8_t *from, size_t bytes, size_t *elements) {
  uint64_t length = 0;
  for (unsigned i = 0; i < 5 && i < bytes; i++) {
    length |= (uint64_t)(from[i] & 0x7f) << 7 * i;
    if (from[i] < 0x80) {
      *elements = i + 1;
      return (int64_t)length;
    }
  }
  return -1;
}

/* An element's header: bytes of the content, a copy's offset, and the header's own bytes. */
struct snappy_element {
  uint32_t length, offset, header;
  int is_copy;
};

/* What begins at `at`, of which at least 5 bytes may be read. */
static struct snappy_element snappy_element(const uint8_t *at) {
  uint32_t tag = at[0], upper = tag >> 2, word = snappy_load(at + 1);
  switch (tag & 3) {
    case 0: {
      uint32_t extra = upper < 60 ? 0 : upper - 59;
      uint32_t length = extra ? word & (uint32_t)((1ull << 8 * extra) - 1) : upper;
      return (struct snappy_element){length + 1, 0, 1 + extra, 0};
    }
    case 1: return (struct snappy_element){(upper & 7) + 4, (upper >> 3) << 8 | at[1], 2, 1};
    case 2: return (struct snappy_element){upper + 1, word & 0xffff, 3, 1};
    default: return (struct snappy_element){upper + 1, word, 5, 1};
  }
}

/* Decompresses elements into `to`, which has room for `length` bytes and no more. 0, or -ISC_EINVAL if damaged.
 * Five bytes behind the elements have to be readable. */
static int snappy_decompress(const uint8_t *from, size_t bytes, uint8_t *to, size_t length) {
  const uint8_t *const end = from + bytes;
  size_t at = 0;
  while (from < end) {
    struct snappy_element element = snappy_element(from);
    if (element.header > (size_t)(end - from) || element.length > length - at || element.length == 0)
      return -ISC_EINVAL;
    from += element.header;
    if (!element.is_copy) {
      if (element.length > (size_t)(end - from)) return -ISC_EINVAL;
      memcpy(to + at, from, element.length);
      from += element.length;
    } else if (element.offset == 0 || element.offset > at) {
      return -ISC_EINVAL;
    } else if (element.offset >= element.length) {
      memcpy(to + at, to + at - element.offset, element.length);
    } else {
      for (uint32_t i = 0; i < element.length; i++) to[at + i] = to[at + i - element.offset];
    }
    at += element.length;
  }
  return at == length ? 0 : -ISC_EINVAL;
}

/* At most so many bytes come out of `bytes` bytes. */
static size_t snappy_most(size_t bytes) { return 32 + bytes + bytes / 6; }

static uint8_t *snappy_put_literal(uint8_t *to, const uint8_t *from, size_t bytes) {
  if (bytes == 0) return to;
  uint32_t last = (uint32_t)bytes - 1;
  if (last < 60) {
    *to++ = (uint8_t)(last << 2);
  } else {
    unsigned extra = last < 1u << 8 ? 1 : last < 1u << 16 ? 2 : last < 1u << 24 ? 3 : 4;
    *to++ = (uint8_t)((59 + extra) << 2);
    memcpy(to, &last, extra);
    to += extra;
  }
  memcpy(to, from, bytes);
  return to + bytes;
}

/* Copies of up to 64 bytes, from up to 65,535 bytes ago. */
static uint8_t *snappy_put_copy(uint8_t *to, uint32_t offset, size_t bytes) {
  while (bytes > 0) {
    /* None of less than 4 bytes is left over. */
    uint32_t some = bytes <= 64 ? (uint32_t)bytes : bytes < 68 ? 60 : 64;
    *to++ = (uint8_t)((some - 1) << 2 | 2);
    *to++ = (uint8_t)offset;
    *to++ = (uint8_t)(offset >> 8);
    bytes -= some;
  }
  return to;
}

/* Compresses greedily; gives the bytes that came out. `to` has room for snappy_most(bytes). */
static size_t snappy_compress(const uint8_t *from, size_t bytes, uint8_t *to) {
  static uint32_t seen[1 << 12]; /* by the hash of four bytes: where they were last, and one */
  uint8_t *const begin = to;
  size_t length = bytes, literal = 0, at = 0;
  for (; length >= 0x80; length >>= 7) *to++ = (uint8_t)(length | 0x80);
  *to++ = (uint8_t)length;
  memset(seen, 0, sizeof seen);
  while (at + 4 <= bytes) {
    uint32_t word = snappy_load(from + at), *slot = &seen[word * 0x1e35a7bdu >> 20];
    size_t before = *slot;
    *slot = (uint32_t)at + 1;
    if (before == 0 || at + 1 - before > 0xffff || snappy_load(from + before - 1) != word) {
      at += 1 + (at - literal) / 32; /* faster over what does not repeat */
      continue;
    }
    size_t match = 4, offset = at + 1 - before;
    while (at + match < bytes && from[at + match] == from[at + match - offset]) match++;
    to = snappy_put_literal(to, from + literal, at - literal);
    to = snappy_put_copy(to, (uint32_t)offset, match);
    literal = at += match;
  }
  to = snappy_put_literal(to, from + literal, bytes - literal);
  return (size_t)(to - begin);
}

#endif
