/* Filter and aggregate of a CSV file (RFC 4180, with a line of names), returned as an Arrow IPC stream:
 *
 *     select GROUP, count(*), sum(VALUE), min(VALUE), max(VALUE) from file
 *     where FILTER between low and high group by GROUP
 *
 * Arguments: int32 file, int32 columns of GROUP, FILTER and VALUE counted from 0, int64 low, int64 high, int32 digits.
 * FILTER and VALUE are decimals with at most `digits` digits after the point; they, low, high and what comes out
 * count in units of the last of these. Groups come in the order in which they are first seen. Memory is two
 * pieces of the file and the groups. The twin is csv_filter.py. */
#include "arrow_stream.h"

#define PIECE_BYTES (256 << 10)
#define FIELD_BYTES 256 /* of a field that is looked at, at most */
#define GROUPS_MAX 4096
#define TEXT_BYTES (64 << 10) /* of all groups' names together */
#define SLOTS (2 * GROUPS_MAX)

static struct {
  int32_t file, column[3]; /* GROUP, FILTER, VALUE */
  int64_t low, high;       /* at byte 16: aligned without padding */
  int32_t digits;
} asked;

enum { GROUP, FILTER, VALUE };

/* The line that is being read: of its fields only those asked for. */
static struct {
  uint64_t number;
  int32_t column;
  int is_quoted, was_quote, is_empty;
  uint32_t bytes[3];
  char field[3][FIELD_BYTES];
} line;

static struct {
  int32_t count;
  int32_t ends[GROUPS_MAX + 1];
  uint8_t text[TEXT_BYTES];
  int64_t rows[GROUPS_MAX], sum[GROUPS_MAX], least[GROUPS_MAX], most[GROUPS_MAX];
  int32_t slot[SLOTS]; /* number of a group and one, by the hash of its name; 0: free */
} groups;

/* A group by name, made if it is new; -ISC_ENOSPC where there are too many. */
static int32_t group_of(const char *name, uint32_t bytes) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (uint32_t i = 0; i < bytes; i++) hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  uint32_t slot = hash % SLOTS;
  for (; groups.slot[slot]; slot = (slot + 1) % SLOTS) {
    int32_t found = groups.slot[slot] - 1;
    uint32_t from = (uint32_t)groups.ends[found], length = (uint32_t)groups.ends[found + 1] - from;
    if (length == bytes && memcmp(groups.text + from, name, bytes) == 0) return found;
  }
  uint32_t end = (uint32_t)groups.ends[groups.count];
  if (groups.count == GROUPS_MAX || end + bytes > TEXT_BYTES) return -ISC_ENOSPC;
  memcpy(groups.text + end, name, bytes);
  groups.ends[groups.count + 1] = (int32_t)(end + bytes);
  groups.least[groups.count] = INT64_MAX;
  groups.most[groups.count] = INT64_MIN;
  groups.slot[slot] = groups.count + 1;
  return groups.count++;
}

/* A decimal in units of its last digit asked for; 0 if it is one. */
static int parse(const char *text, uint32_t bytes, int64_t *value) {
  uint32_t at = 0;
  int is_negative = bytes && text[0] == '-';
  int32_t digits = -1; /* after the point; -1 before it */
  uint32_t seen = 0;
  *value = 0;
  for (at += (uint32_t)is_negative; at < bytes; at++) {
    if (text[at] == '.' && digits < 0) {
      digits = 0;
      continue;
    }
    unsigned digit = (unsigned)text[at] - '0';
    if (digit > 9 || digits == asked.digits || seen++ == 18) return -ISC_EINVAL;
    *value = *value * 10 + digit;
    digits += digits >= 0;
  }
  for (digits = digits < 0 ? 0 : digits; digits < asked.digits; digits++) *value *= 10;
  if (is_negative) *value = -*value;
  return seen ? 0 : -ISC_EINVAL;
}

/* What a whole line does to the groups. */
static int take_line(void) {
  for (int i = 0; i < 3; i++)
    if (line.column < asked.column[i] || line.bytes[i] == FIELD_BYTES) return -ISC_EINVAL;
  int64_t filter, value;
  int done = parse(line.field[FILTER], line.bytes[FILTER], &filter);
  if (done < 0 || filter < asked.low || filter > asked.high) return done;
  done = parse(line.field[VALUE], line.bytes[VALUE], &value);
  if (done < 0) return done;
  int32_t group = group_of(line.field[GROUP], line.bytes[GROUP]);
  if (group < 0) return group;
  groups.rows[group]++;
  groups.sum[group] += value;
  if (value < groups.least[group]) groups.least[group] = value;
  if (value > groups.most[group]) groups.most[group] = value;
  return 0;
}

static int end_line(void) {
  /* The first has names; one without anything is none. */
  int done = line.number == 0 || line.is_empty ? 0 : take_line();
  line.number++;
  line.column = 0;
  line.is_quoted = line.was_quote = 0;
  line.is_empty = 1;
  memset(line.bytes, 0, sizeof line.bytes);
  return done;
}

static void keep(char byte) {
  for (int i = 0; i < 3; i++)
    if (line.column == asked.column[i] && line.bytes[i] < FIELD_BYTES) line.field[i][line.bytes[i]++] = byte;
}

static int take(char byte) {
  if (byte == '\n' && !line.is_quoted) return end_line();
  if (byte == '\r' && !line.is_quoted) return 0;
  line.is_empty = 0;
  if (byte == '"') {
    /* A quote right behind one that closed: both stand for one. */
    if (line.was_quote) keep('"');
    line.was_quote = line.is_quoted;
    line.is_quoted = !line.is_quoted;
    return 0;
  }
  line.was_quote = 0;
  if (byte == ',' && !line.is_quoted)
    line.column++;
  else
    keep(byte);
  return 0;
}

static int64_t scan(void) {
  static char pieces[2][PIECE_BYTES];
  int64_t offset = 0, got;
  int done = 0, now = 0, ticket = isc_submit_read(asked.file, pieces[0], PIECE_BYTES, 0);
  while ((got = isc_wait(ticket)) > 0 && done == 0) {
    offset += got;
    ticket = isc_submit_read(asked.file, pieces[!now], PIECE_BYTES, offset);
    for (int64_t at = 0; at < got && done == 0; at++) done = take(pieces[now][at]);
    now = !now;
  }
  if (done < 0 || got < 0) return done < 0 ? done : got;
  return line.is_empty ? 0 : end_line();
}

int isc_task(void) {
  if (isc_get_args(&asked, sizeof asked) < offsetof(__typeof__(asked), digits) + 4)
    return isc_failed("arguments", -ISC_EINVAL);
  if (asked.digits < 0 || asked.digits > 9) return isc_failed("digits: 0 to 9", -ISC_EINVAL);
  line.is_empty = 1;
  int64_t done = scan();
  if (done < 0) {
    isc_log("line %llu cannot be understood, or is one group too many", (unsigned long long)line.number);
    return isc_failed("scan", done);
  }
  const struct arrow_column columns[] = {
      {"group", NULL, groups.ends, groups.text}, {"count", groups.rows, NULL, NULL},
      {"sum", groups.sum, NULL, NULL},           {"min", groups.least, NULL, NULL},
      {"max", groups.most, NULL, NULL},
  };
  int put = arrow_return(columns, 5, groups.count);
  return put < 0 ? isc_failed("return", put) : 0;
}
