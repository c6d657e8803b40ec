/* The filter block of a LevelDB table file: which keys a stretch of 2 KiB may have (filter_block.cc and bloom.cc of LevelDB). */
#ifndef SSTABLE_FILTER_H
#define SSTABLE_FILTER_H

#include "sstable.h"

#define FILTER_NAME "filter.leveldb.BuiltinBloomFilter2"
#define FILTER_BASE_LG 11 /* a filter for each 2 KiB of the file */

struct filter {
  uint32_t bits_per_key; /* 0: the file has no filters */
  struct bytes hashes;   /* of keys that have none yet */
  struct bytes filters, offsets;
};

static uint32_t filter_hash(const uint8_t *at, size_t size) {
  const uint32_t mix = 0xc6a4a793;
  uint32_t hash = 0xbc9f1d34 ^ (uint32_t)size * mix, word;
  for (; size >= 4; at += 4, size -= 4) {
    memcpy(&word, at, 4);
    hash = (hash + word) * mix;
    hash ^= hash >> 16;
  }
  if (size == 0) return hash;
  for (size_t i = 0; i < size; i++) hash += (uint32_t)at[i] << 8 * i;
  hash *= mix;
  return hash ^ hash >> 24;
}

/* Ends a filter: of the keys since the last one. */
static void filter_end(struct filter *filter) {
  size_t keys = filter->hashes.size / 4;
  uint32_t begin = (uint32_t)filter->filters.size;
  bytes_append(&filter->offsets, &begin, 4);
  if (keys == 0) return;
  /* ln 2 times the bits of a key, as LevelDB rounds it. */
  uint32_t probes = filter->bits_per_key * 69 / 100;
  probes = probes < 1 ? 1 : probes > 30 ? 30 : probes;
  size_t bits = keys * filter->bits_per_key;
  size_t bytes = bits < 64 ? 8 : (bits + 7) / 8;
  bytes_reserve(&filter->filters, begin + bytes + 1);
  uint8_t *at = filter->filters.at + begin;
  memset(at, 0, bytes);
  at[bytes] = (uint8_t)probes;
  filter->filters.size += bytes + 1;
  for (size_t i = 0; i < keys; i++) {
    uint32_t hash;
    memcpy(&hash, filter->hashes.at + 4 * i, 4);
    uint32_t delta = hash >> 17 | hash << 15;
    for (uint32_t j = 0; j < probes; j++, hash += delta) {
      uint32_t bit = hash % (uint32_t)(bytes * 8);
      at[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
  }
  filter->hashes.size = 0;
}

static void filter_begin(struct filter *filter) {
  filter->hashes.size = filter->filters.size = filter->offsets.size = 0;
}

/* A data block begins here. */
static void filter_block_at(struct filter *filter, uint64_t offset) {
  while (offset >> FILTER_BASE_LG > filter->offsets.size / 4) filter_end(filter);
}

/* Adds an internal key: filters are of the user's keys. */
static void filter_add(struct filter *filter, const uint8_t *key, size_t size) {
  uint32_t hash = filter_hash(key, size - 8);
  bytes_append(&filter->hashes, &hash, 4);
}

/* All filters and where they are: the contents of the block. */
static struct bytes *filter_finish(struct filter *filter) {
  const uint8_t base = FILTER_BASE_LG;
  if (filter->hashes.size) filter_end(filter);
  uint32_t offsets_at = (uint32_t)filter->filters.size;
  bytes_append(&filter->filters, filter->offsets.at, filter->offsets.size);
  bytes_append(&filter->filters, &offsets_at, 4);
  bytes_append(&filter->filters, &base, 1);
  return &filter->filters;
}

#endif
