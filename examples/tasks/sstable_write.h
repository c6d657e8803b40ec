/* Writes a LevelDB table file: data blocks, filters if asked for, the metaindex that names them, the index, the footer. */
#ifndef SSTABLE_WRITE_H
#define SSTABLE_WRITE_H

#include "sstable_filter.h"

#define PIECE_BYTES (128 << 10)

/* A block that is being made. Every `interval` entries a key is stored whole. */
struct builder {
  struct bytes data, restarts, last;
  uint32_t interval, since;
};

/* A file that is being written, a piece behind. */
struct output {
  int file, now, ticket;
  int64_t file_bytes, offset; /* of its room; what is submitted */
  struct bytes pieces[2];
  uint64_t entries;
  struct bytes smallest, packed;
  struct builder block, index;
  struct filter filter;
  uint32_t block_bytes;
  int is_compressed;
};

static void builder_reset(struct builder *builder) {
  builder->data.size = builder->restarts.size = builder->last.size = 0;
  builder->since = 0;
}

static void builder_add(struct builder *builder, const uint8_t *key, size_t size, const uint8_t *value,
                        size_t value_size) {
  size_t shared = 0, most = builder->last.size < size ? builder->last.size : size;
  if (builder->since == builder->interval || builder->restarts.size == 0) {
    uint32_t here = (uint32_t)builder->data.size;
    bytes_append(&builder->restarts, &here, 4);
    builder->since = 0;
  } else {
    while (shared < most && key[shared] == builder->last.at[shared]) shared++;
  }
  bytes_varint(&builder->data, shared);
  bytes_varint(&builder->data, size - shared);
  bytes_varint(&builder->data, value_size);
  bytes_append(&builder->data, key + shared, size - shared);
  bytes_append(&builder->data, value, value_size);
  bytes_set(&builder->last, key, size);
  builder->since++;
}

/* Adds the list of restarts; a block without entries has one, too. */
static void builder_finish(struct builder *builder) {
  uint32_t zero = 0;
  if (builder->restarts.size == 0) bytes_append(&builder->restarts, &zero, 4);
  uint32_t count = (uint32_t)(builder->restarts.size / 4);
  bytes_append(&builder->data, builder->restarts.at, builder->restarts.size);
  bytes_append(&builder->data, &count, 4);
}

static int64_t output_wait(struct output *out) {
  int64_t done = out->ticket < 0 ? 0 : isc_wait(out->ticket);
  out->ticket = -1;
  return done < 0 ? done : 0;
}

/* Submits the piece in memory. */
static int64_t output_flush(struct output *out) {
  struct bytes *piece = &out->pieces[out->now];
  int64_t done = output_wait(out);
  if (done < 0 || piece->size == 0) return done;
  out->ticket = isc_submit_write(out->file, piece->at, piece->size, out->offset);
  if (out->ticket < 0) return out->ticket;
  out->offset += (int64_t)piece->size;
  out->now = !out->now;
  out->pieces[out->now].size = 0;
  return 0;
}

/* Bytes written so far, with what waits in memory. */
static int64_t output_bytes(const struct output *out) { return out->offset + (int64_t)out->pieces[out->now].size; }

static int64_t output_append(struct output *out, const void *from, size_t bytes) {
  bytes_append(&out->pieces[out->now], from, bytes);
  return out->pieces[out->now].size >= PIECE_BYTES ? output_flush(out) : 0;
}

/* Writes the contents of a block, with its trailer behind them. */
static int64_t output_contents(struct output *out, struct bytes *content, uint8_t kind, struct handle *handle) {
  handle->offset = (uint64_t)output_bytes(out);
  handle->size = content->size;
  bytes_append(content, &kind, 1);
  uint32_t sum = crc32c_masked(content->at, content->size);
  bytes_append(content, &sum, 4);
  return output_append(out, content->at, content->size);
}

/* Writes a block with its trailer, compressed if that saves an eighth, as LevelDB does. */
static int64_t output_block(struct output *out, struct builder *builder, struct handle *handle) {
  builder_finish(builder);
  struct bytes *content = &builder->data;
  uint8_t kind = PLAIN;
  if (out->is_compressed) {
    bytes_reserve(&out->packed, snappy_most(content->size) + TRAILER_BYTES);
    out->packed.size = snappy_compress(content->at, content->size, out->packed.at);
    if (out->packed.size < content->size - content->size / 8) {
      kind = SNAPPY;
      content = &out->packed;
    }
  }
  int64_t done = output_contents(out, content, kind, handle);
  builder_reset(builder);
  return done;
}

/* Ends the data block; its last key, which lies before all of the next block's, leads to it. */
static int64_t output_end_block(struct output *out) {
  static struct bytes key, value;
  struct handle handle;
  bytes_set(&key, out->block.last.at, out->block.last.size);
  int64_t done = output_block(out, &out->block, &handle);
  value.size = 0;
  handle_write(&value, handle);
  builder_add(&out->index, key.at, key.size, value.at, value.size);
  if (out->filter.bits_per_key) filter_block_at(&out->filter, (uint64_t)output_bytes(out));
  return done;
}

static void output_begin(struct output *out, int file) {
  out->file = file;
  out->file_bytes = isc_file_size(file);
  out->offset = 0;
  out->entries = 0;
  out->ticket = -1;
  out->pieces[out->now].size = 0;
  out->block.interval = 16;
  out->index.interval = 1;
  builder_reset(&out->block);
  builder_reset(&out->index);
  filter_begin(&out->filter);
}

static int64_t output_add(struct output *out, const uint8_t *key, size_t size, const uint8_t *value,
                          size_t value_size) {
  if (out->entries++ == 0) bytes_set(&out->smallest, key, size);
  builder_add(&out->block, key, size, value, value_size);
  if (out->filter.bits_per_key) filter_add(&out->filter, key, size);
  size_t so_far = out->block.data.size + out->block.restarts.size + 4;
  return so_far >= out->block_bytes ? output_end_block(out) : 0;
}

/* Ends the file: filters, metaindex, index and footer. `out->index.last` is the largest key before. */
static int64_t output_end(struct output *out) {
  static struct bytes footer;
  static struct builder metaindex = {.interval = 1};
  struct handle at[2];
  int64_t done = out->block.data.size ? output_end_block(out) : 0;
  if (done == 0 && out->filter.bits_per_key) {
    static struct bytes value;
    done = output_contents(out, filter_finish(&out->filter), PLAIN, &at[0]);
    value.size = 0;
    handle_write(&value, at[0]);
    builder_add(&metaindex, (const uint8_t *)FILTER_NAME, sizeof FILTER_NAME - 1, value.at, value.size);
  }
  if (done == 0) done = output_block(out, &metaindex, &at[0]);
  if (done == 0) done = output_block(out, &out->index, &at[1]);
  footer.size = 0;
  handle_write(&footer, at[0]);
  handle_write(&footer, at[1]);
  bytes_reserve(&footer, FOOTER_BYTES);
  memset(footer.at + footer.size, 0, FOOTER_BYTES - footer.size);
  uint64_t magic = MAGIC;
  memcpy(footer.at + FOOTER_BYTES - 8, &magic, 8);
  if (done == 0) done = output_append(out, footer.at, FOOTER_BYTES);
  if (done == 0) done = output_flush(out);
  return done == 0 ? output_wait(out) : done;
}

#endif
