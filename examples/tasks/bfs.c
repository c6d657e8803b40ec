/* Breadth-first search over a graph that is far larger than the memory of a task: only what it looks at is read.
 *
 * The graph's file is in compressed sparse rows, little-endian: 8 bytes "BLCSR001", uint64 vertices, uint64 edges,
 * uint64 first[vertices + 1], uint32 target[edges]; the edges of v are target[first[v]] to target[first[v + 1] - 1].
 *
 * Arguments: int32 number of the graph's file, int32 number of the output file, uint32 source. The output file gets
 * uint32 level[vertices]: the edges on a shortest path from the source, 0xffffffff where there is none. Returns
 * uint64 vertices reached and uint64 levels below the source. Memory: 8 bytes a vertex, and the window's lists.
 * The twin is bfs.py. */
#include <bitline/isc.h>
#include <string.h>

/* Vertices whose edges are read at the same time; edges of one that are in memory at the same time. */
#define WINDOW 16
#define EDGES_MAX 4096

#define UNREACHED 0xffffffffu

static struct {
  char magic[8];
  uint64_t vertices, edges;
} head;

static int graph;
static uint32_t *level, *queue; /* of all vertices; in the order in which they were reached */
static uint64_t reached;

/* Where the lists of the window's vertices lie, and a part of each. */
static uint64_t bounds[WINDOW][2];
static uint32_t targets[WINDOW][EDGES_MAX];
static int tickets[WINDOW];

/* Instead of a ticket: nothing is left to read. */
#define NOTHING INT32_MIN

static int64_t offset_of_first(uint64_t vertex) { return (int64_t)(sizeof head + vertex * 8); }
static int64_t offset_of_target(uint64_t edge) { return offset_of_first(head.vertices + 1) + (int64_t)edge * 4; }

/* Waits for all submissions of a window; the first error, if any. */
static int64_t wait_for(unsigned count) {
  int64_t worst = 0;
  for (unsigned i = 0; i < count; i++) {
    int64_t got = tickets[i] == NOTHING ? 0 : isc_wait(tickets[i]);
    if (got < 0 && worst == 0) worst = got;
  }
  return worst;
}

static int64_t read_bounds(const uint32_t *vertices, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    tickets[i] = isc_submit_read(graph, bounds[i], sizeof bounds[i], offset_of_first(vertices[i]));
  int64_t done = wait_for(count);
  for (unsigned i = 0; i < count && done == 0; i++)
    if (bounds[i][0] > bounds[i][1] || bounds[i][1] > head.edges) done = -ISC_EINVAL;
  return done;
}

static unsigned listed(unsigned i) {
  uint64_t left = bounds[i][1] - bounds[i][0];
  return left < EDGES_MAX ? (unsigned)left : EDGES_MAX;
}

/* Reads the next part of every list of the window. */
static int64_t read_targets(unsigned count) {
  for (unsigned i = 0; i < count; i++)
    tickets[i] = listed(i) == 0
                     ? NOTHING
                     : isc_submit_read(graph, targets[i], listed(i) * 4, offset_of_target(bounds[i][0]));
  return wait_for(count);
}

static int64_t reach(const uint32_t *vertices, unsigned count, uint32_t next_level) {
  for (unsigned i = 0; i < count; i++) {
    uint32_t vertex = vertices[i];
    if (vertex >= head.vertices) return -ISC_EINVAL;
    if (level[vertex] != UNREACHED) continue;
    level[vertex] = next_level;
    queue[reached++] = vertex;
  }
  return 0;
}

/* Follows the edges of some vertices of one level. */
static int64_t expand(const uint32_t *vertices, unsigned count, uint32_t next_level) {
  int64_t done = read_bounds(vertices, count);
  for (int is_more = 1; is_more && done == 0;) {
    done = read_targets(count);
    is_more = 0;
    for (unsigned i = 0; i < count && done == 0; i++) {
      unsigned edges = listed(i);
      done = reach(targets[i], edges, next_level);
      bounds[i][0] += edges;
      is_more |= bounds[i][0] < bounds[i][1];
    }
  }
  return done;
}

static int64_t search(uint32_t source, uint64_t *depth) {
  int64_t done = reach(&source, 1, 0);
  uint64_t from = 0, until = reached;
  for (*depth = 0; from < until && done == 0; until = reached) {
    for (; from < until && done == 0; from += WINDOW) {
      unsigned count = until - from < WINDOW ? (unsigned)(until - from) : WINDOW;
      done = expand(queue + from, count, (uint32_t)*depth + 1);
    }
    from = until;
    if (reached > until) ++*depth;
  }
  return done;
}

int isc_task(void) {
  struct {
    int32_t graph, levels;
    uint32_t source;
  } asked;
  if (isc_get_args(&asked, sizeof asked) != sizeof asked) return isc_failed("arguments", -ISC_EINVAL);
  graph = asked.graph;
  int64_t got = isc_pread(graph, &head, sizeof head, 0);
  if (got != sizeof head || memcmp(head.magic, "BLCSR001", 8)) return isc_failed("header of the graph", -ISC_EINVAL);
  if (head.vertices > UNREACHED / 4 || head.edges > 1ull << 60 ||
      isc_file_size(graph) < offset_of_target(head.edges))
    return isc_failed("size of the graph", -ISC_EINVAL);
  size_t bytes = (size_t)head.vertices * 4;
  level = isc_malloc(bytes);
  queue = isc_malloc(bytes);
  if (!level || !queue) return isc_failed("memory: 8 bytes a vertex", -ISC_ENOSPC);
  memset(level, 0xff, bytes);
  uint64_t result[2];
  int64_t done = search(asked.source, &result[1]);
  if (done < 0) return isc_failed("search", done);
  done = isc_pwrite(asked.levels, level, bytes, 0);
  if (done < 0) return isc_failed("write", done);
  result[0] = reached;
  return isc_put_ret(result, sizeof result);
}
