/* A plugin of QEMU's user mode that counts the AArch64 instructions a program executes, by class.
 *
 * Debian ships QEMU with plugins enabled, but neither its header nor its example libinsn.so, so what is used of the
 * interface (version 1, QEMU's include/qemu/qemu-plugin.h) is declared here. Told on the standard error at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *),
                                          enum qemu_plugin_cb_flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum {
  ALU, MULTIPLY, DIVIDE, LOAD, LOAD_PAIR, STORE, STORE_PAIR, BRANCH, CALL,
  FLOAT, FLOAT_DIVIDE, FLOAT_DIVIDE_32, VECTOR, OTHER, CLASSES
};
static const char *const NAMES[CLASSES] = {
    "alu",  "multiply", "divide",       "load",            "load_pair", "store", "store_pair", "branch",
    "call", "float",    "float_divide", "float_divide_32", "vector",    "other"};
static uint64_t counts[CLASSES];

/* By the main encoding groups of the architecture (Arm ARM C4.1). */
static int branch_class(uint32_t word) {
  if ((word & 0xfc000000) == 0x94000000) return CALL;                  /* BL */
  if ((word & 0xfffffc1f) == 0xd63f0000) return CALL;                  /* BLR */
  if ((word & 0xfffffc1f) == 0xd65f0000) return CALL;                  /* RET: half of a call */
  if ((word & 0xff000000) == 0xd5000000) return OTHER;                 /* system, hints */
  return BRANCH;
}

static int register_class(uint32_t word) {
  if ((word & 0x1f000000) == 0x1b000000) return MULTIPLY; /* MADD, UMULH and the like */
  if ((word & 0x7fe0f800) == 0x1ac00800) return DIVIDE;   /* UDIV, SDIV */
  return ALU;
}

static int float_class(uint32_t word) {
  if ((word & 0x5f000000) != 0x1e000000 && (word & 0x5f000000) != 0x1f000000) return VECTOR;
  uint32_t of_any = word & ~(1u << 22); /* bit 22: double precision */
  int is_division = (of_any & 0xff20fc00) == 0x1e201800, is_root = (of_any & 0xff3ffc00) == 0x1e21c000;
  if (is_division || is_root) return word >> 22 & 1 ? FLOAT_DIVIDE : FLOAT_DIVIDE_32;
  return FLOAT;
}

/* Bit 22 of most loads and stores says which; in the groups below it is bits 22 and 23 together. */
static int memory_class(uint32_t word) {
  if ((word & 0x3b000000) == 0x18000000) return LOAD; /* literal */
  if ((word & 0x3a000000) == 0x28000000) return word >> 22 & 1 ? LOAD_PAIR : STORE_PAIR;
  int is_single = (word & 0x3a000000) == 0x38000000, is_vector = word >> 26 & 1;
  if (is_single && is_vector) return word >> 22 & 1 ? LOAD : STORE;
  if (is_single) return word >> 22 & 3 ? LOAD : STORE;
  return word >> 22 & 1 ? LOAD : STORE; /* exclusives, vectors' structures */
}

static int class_of(uint32_t word) {
  switch (word >> 25 & 15) {
    case 8: case 9: return ALU; /* immediates */
    case 10: case 11: return branch_class(word);
    case 4: case 6: case 12: case 14: return memory_class(word);
    case 5: case 13: return register_class(word);
    case 7: case 15: return float_class(word);
    default: return OTHER;
  }
}

static void executed(unsigned cpu, void *block) {
  (void)cpu;
  const uint32_t *in_block = block;
  for (int i = 0; i < CLASSES; i++) counts[i] += in_block[i];
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  uint32_t *in_block = calloc(CLASSES, sizeof *in_block);
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, i)), 4);
    in_block[class_of(word)]++;
  }
  qemu_plugin_register_vcpu_tb_exec_cb(block, executed, QEMU_PLUGIN_CB_NO_REGS, in_block);
}

static void tell(qemu_plugin_id_t id, void *data) {
  (void)id, (void)data;
  for (int i = 0; i < CLASSES; i++) fprintf(stderr, "count %s %" PRIu64 "\n", NAMES[i], counts[i]);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
                                                               int argc, char **argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, tell, NULL);
  return 0;
}
