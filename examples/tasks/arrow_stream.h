/* A record batch as an Arrow IPC stream (Arrow columnar format 1.0, metadata version V5), without a library.
 *
 * A stream is a schema message, one record batch message with its body, and an end. Messages' metadata are tables of
 * FlatBuffers, which are built from their end towards their beginning, as FlatBuffers' own builders do. */
#ifndef ARROW_STREAM_H
#define ARROW_STREAM_H

#include <bitline/isc.h>
#include <string.h>

/* Bytes of one message's metadata, at most; fields of a table, at most. */
#define FLAT_BYTES 4096
#define FLAT_FIELDS 8

/* What is built: bytes[at] to the end. Positions within it are counted from its end, so that they stay. */
static struct {
  uint8_t bytes[FLAT_BYTES];
  uint32_t at;
  uint32_t table;               /* where the table being built ends */
  uint32_t fields[FLAT_FIELDS]; /* where its fields are; 0: not there */
} flat;

static uint32_t flat_position(void) { return FLAT_BYTES - flat.at; }

static void flat_begin(void) { flat.at = FLAT_BYTES; }

/* Room for `bytes` bytes, whose position will be a multiple of `align`; zeros between. */
static uint8_t *flat_room(uint32_t bytes, uint32_t align) {
  while ((flat_position() + bytes) % align) flat.bytes[--flat.at] = 0;
  if (flat.at < bytes) __builtin_trap();
  flat.at -= bytes;
  return flat.bytes + flat.at;
}

static uint32_t flat_put(const void *from, uint32_t bytes) {
  memcpy(flat_room(bytes, bytes), from, bytes);
  return flat_position();
}

static uint32_t flat_u32(uint32_t value) { return flat_put(&value, 4); }

/* An offset to what is at a position: from where the offset itself lies. */
static uint32_t flat_offset(uint32_t to) {
  uint8_t *room = flat_room(4, 4);
  uint32_t distance = flat_position() - to;
  memcpy(room, &distance, 4);
  return flat_position();
}

static uint32_t flat_string(const char *text) {
  uint32_t length = (uint32_t)strlen(text);
  /* The length before it has to be aligned once the bytes and their zero lie there. */
  uint8_t *room = flat_room((length + 4) & ~3u, 4);
  memset(room, 0, (length + 4) & ~3u);
  memcpy(room, text, length);
  return flat_u32(length);
}

static void flat_table(void) {
  memset(flat.fields, 0, sizeof flat.fields);
  flat.table = flat_position();
}

/* Field number `field` of the table being built. */
static void flat_scalar(unsigned field, const void *value, uint32_t bytes) {
  flat.fields[field] = flat_put(value, bytes);
}
static void flat_byte(unsigned field, uint8_t value) { flat_scalar(field, &value, 1); }
static void flat_short(unsigned field, int16_t value) { flat_scalar(field, &value, 2); }
static void flat_int(unsigned field, int32_t value) { flat_scalar(field, &value, 4); }
static void flat_long(unsigned field, int64_t value) { flat_scalar(field, &value, 8); }
static void flat_reference(unsigned field, uint32_t to) { flat.fields[field] = flat_offset(to); }

/* Ends the table: its offset to the list of its fields, and the list before it. */
static uint32_t flat_table_end(void) {
  uint32_t start = flat_u32(0), count = FLAT_FIELDS;
  while (count > 0 && flat.fields[count - 1] == 0) count--;
  uint16_t list[2 + FLAT_FIELDS] = {(uint16_t)(4 + 2 * count), (uint16_t)(start - flat.table)};
  for (uint32_t i = 0; i < count; i++) list[2 + i] = flat.fields[i] ? (uint16_t)(start - flat.fields[i]) : 0;
  uint32_t bytes = 4 + 2 * count;
  memcpy(flat_room(bytes, 2), list, bytes);
  int32_t back = (int32_t)(flat_position() - start);
  memcpy(flat.bytes + FLAT_BYTES - start, &back, 4);
  return start;
}

/* A vector of `count` offsets. */
static uint32_t flat_references(const uint32_t *to, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) flat_offset(to[i]);
  return flat_u32(count);
}

/* A vector of structs of two int64, as buffers and nodes are. */
static uint32_t flat_pairs(const int64_t (*pairs)[2], uint32_t count) {
  /* 8-aligned elements behind a 4-byte count. */
  flat_room(0, 8);
  for (uint32_t i = count; i-- > 0;) memcpy(flat_room(16, 8), pairs[i], 16);
  return flat_u32(count);
}

/* ---- Arrow's metadata (Schema.fbs and Message.fbs of the format). ---- */

enum { ARROW_V5 = 4, ARROW_SCHEMA = 1, ARROW_RECORD_BATCH = 3, ARROW_TYPE_INT = 2, ARROW_TYPE_UTF8 = 5 };

/* A column: int64 where it has numbers, text otherwise. None has nulls. */
struct arrow_column {
  const char *name;
  const int64_t *numbers;
  const int32_t *ends;        /* of texts: where each begins, and the end of the last */
  const uint8_t *text;
};

static uint32_t arrow_field(const struct arrow_column *column) {
  uint32_t name = flat_string(column->name), children = flat_references(NULL, 0);
  flat_table();
  if (column->numbers) {
    flat_int(0, 64);
    flat_byte(1, 1);
  }
  uint32_t type = flat_table_end();
  flat_table();
  flat_reference(0, name);
  flat_byte(1, 0);
  flat_byte(2, column->numbers ? ARROW_TYPE_INT : ARROW_TYPE_UTF8);
  flat_reference(3, type);
  flat_reference(5, children);
  return flat_table_end();
}

/* Ends a message and returns it to the host: marker, length, metadata padded to 8 bytes. */
static int arrow_message(uint8_t kind, uint32_t header, int64_t body_bytes) {
  flat_table();
  flat_long(3, body_bytes);
  flat_reference(2, header);
  flat_short(0, ARROW_V5);
  flat_byte(1, kind);
  uint32_t message = flat_table_end();
  flat_room(4, 8);
  uint32_t distance = flat_position() - message, prefix[2] = {0xffffffffu, flat_position()};
  memcpy(flat.bytes + flat.at, &distance, 4);
  int put = isc_put_ret(prefix, sizeof prefix);
  return put ? put : isc_put_ret(flat.bytes + flat.at, flat_position());
}

static int arrow_schema(const struct arrow_column *columns, uint32_t count) {
  uint32_t fields[FLAT_FIELDS];
  flat_begin();
  for (uint32_t i = 0; i < count; i++) fields[i] = arrow_field(&columns[i]);
  uint32_t list = flat_references(fields, count);
  flat_table();
  flat_reference(1, list);
  return arrow_message(ARROW_SCHEMA, flat_table_end(), 0);
}

static int64_t arrow_padded(int64_t bytes) { return (bytes + 7) & ~7ll; }

static int arrow_body(const void *from, int64_t bytes) {
  static const uint8_t zeros[8];
  int put = isc_put_ret(from, (size_t)bytes);
  return put ? put : isc_put_ret(zeros, (size_t)(arrow_padded(bytes) - bytes));
}

/* The stream's only batch. */
static int arrow_batch(const struct arrow_column *columns, uint32_t count, int64_t rows) {
  int64_t nodes[FLAT_FIELDS][2], buffers[3 * FLAT_FIELDS][2], at = 0;
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t sizes[3] = {0, rows * 8, -1};
    if (!columns[i].numbers) sizes[1] = (rows + 1) * 4, sizes[2] = columns[i].ends[rows];
    nodes[i][0] = rows;
    nodes[i][1] = 0;
    for (unsigned part = 0; part < 3 && sizes[part] >= 0; part++) {
      buffers[used][0] = at;
      buffers[used++][1] = sizes[part];
      at += arrow_padded(sizes[part]);
    }
  }
  flat_begin();
  uint32_t lying = flat_pairs(buffers, used), shapes = flat_pairs(nodes, count);
  flat_table();
  flat_long(0, rows);
  flat_reference(1, shapes);
  flat_reference(2, lying);
  int put = arrow_message(ARROW_RECORD_BATCH, flat_table_end(), at);
  for (uint32_t i = 0; i < count && put == 0; i++) {
    if (columns[i].numbers) {
      put = arrow_body(columns[i].numbers, rows * 8);
    } else {
      put = arrow_body(columns[i].ends, (rows + 1) * 4);
      if (put == 0) put = arrow_body(columns[i].text, columns[i].ends[rows]);
    }
  }
  return put;
}

/* Returns columns of so many rows to the host as a whole stream. 0 or a negative error; at most FLAT_FIELDS columns. */
static int arrow_return(const struct arrow_column *columns, uint32_t count, int64_t rows) {
  static const uint32_t end[2] = {0xffffffffu, 0};
  int put = arrow_schema(columns, count);
  if (put == 0) put = arrow_batch(columns, count, rows);
  return put ? put : isc_put_ret(end, sizeof end);
}

#endif
