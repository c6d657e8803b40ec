/* Kernels of integer work: arithmetic, memory, decisions, calls. See kernels.h. */
#include "kernels.h"

union memory {
  uint8_t bytes[BYTES];
  uint32_t words[WORDS];
  uint64_t longs[BYTES / 8];
};
union memory in, out;

void prepare(void) {
  uint32_t state = 1;
  for (int i = 0; i < WORDS; i++) {
    state = state * 1664525u + 1013904223u;
    in.words[i] = state >> 3;
    out.words[i] = 0;
  }
}

#define KERNEL(name) __attribute__((noinline)) uint64_t k_##name(uint64_t rounds)
#define TIMES(count) for (uint64_t i = 0; i < (count); i++)

KERNEL(xorshift) {
  uint64_t x = 88172645463325252ull;
  TIMES(rounds * 1000) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

KERNEL(rotate_mix) {
  uint32_t a = 1, b = 2, c = 3, d = 4;
  TIMES(rounds * 500) {
    a += b, d ^= a, d = d << 16 | d >> 16;
    c += d, b ^= c, b = b << 12 | b >> 20;
    a += b, d ^= a, d = d << 8 | d >> 24;
    c += d, b ^= c, b = b << 7 | b >> 25;
  }
  return a ^ b ^ c ^ d;
}

KERNEL(counters) {
  uint32_t a = 0, b = 1, c = 2, d = 3, e = 4;
  TIMES(rounds * 500) a += (uint32_t)i ^ b, b -= c & 77, c += d | 5, d ^= e + 9, e += a >> 3;
  return a + b + c + d + e;
}

KERNEL(bit_tricks) {
  uint64_t x = 12345, sum = 0;
  TIMES(rounds * 300) {
    x += 0x9e3779b97f4a7c15ull;
    sum += (uint64_t)__builtin_clzll(x | 1) + (uint64_t)__builtin_ctzll(x | 1ull << 63);
  }
  return sum;
}

KERNEL(select_min_max) {
  int32_t least = INT32_MAX, most = INT32_MIN, clamped = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 400; i++) {
      int32_t x = (int32_t)(in.words[i] + (uint32_t)r);
      least = x < least ? x : least;
      most = x > most ? x : most;
      clamped += x > 1000 ? 1000 : x;
    }
  return (uint64_t)(uint32_t)least ^ (uint32_t)most ^ (uint32_t)clamped;
}

KERNEL(lcg) {
  uint64_t x = 1;
  TIMES(rounds * 500) x = x * 6364136223846793005ull + 1442695040888963407ull;
  return x;
}

KERNEL(multiply_high) {
  uint32_t a = 1, b = 3, c = 5;
  TIMES(rounds * 300) {
    a = (uint32_t)((uint64_t)a * 0xcc9e2d51u >> 13) + 7;
    b = b * 0x1b873593u + a;
    c = c * b + 11;
  }
  return a ^ b ^ c;
}

KERNEL(mix_hash) {
  uint64_t hash = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 200; i++) {
      uint64_t k = in.longs[i] * 0xc6a4a7935bd1e995ull;
      k ^= k >> 47;
      hash = (hash ^ k * 0xc6a4a7935bd1e995ull) * 0xc6a4a7935bd1e995ull;
    }
  return hash;
}

KERNEL(divide32) {
  uint32_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 200; i++) sum += in.words[i] / (in.words[i + 1] | 1);
  return sum;
}

KERNEL(divide64) {
  uint64_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 200; i++) sum += in.longs[i] / (in.longs[i + 1] >> 20 | 1);
  return sum;
}

KERNEL(remainder_by_parts) {
  uint32_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 200; i++) sum = sum * 31 + in.words[i] % (sum >> 4 | 3);
  return sum;
}

KERNEL(gcd) {
  uint64_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 20; i++) {
      uint32_t a = in.words[i], b = in.words[i + 1];
      while (b) {
        uint32_t rest = a % b;
        a = b, b = rest;
      }
      sum += a;
    }
  return sum;
}

KERNEL(sum32) {
  uint64_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < WORDS; i += 4) sum += in.words[i] ^ (in.words[i + 1] + in.words[i + 2]) ^ in.words[i + 3];
  return sum;
}

KERNEL(sum_bytes) {
  uint32_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 2000; i++) sum += in.bytes[i];
  return sum;
}

KERNEL(chase) {
  uint32_t at = 0, sum = 0;
  TIMES(rounds * 1000) at = in.words[at] % WORDS, sum += at;
  return sum;
}

KERNEL(stencil) {
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 1; i < 1000; i++) out.words[i] = in.words[i - 1] + 2 * in.words[i] + in.words[i + 1];
  return out.words[77];
}

KERNEL(fill32) {
  for (uint64_t r = 0; r < rounds; r++)
    for (uint32_t i = 0; i < 1000; i++) out.words[i] = i ^ (uint32_t)r;
  return out.words[99];
}

KERNEL(fill_bytes) {
  for (uint64_t r = 0; r < rounds; r++)
    for (uint32_t i = 0; i < 1000; i++) out.bytes[i] = (uint8_t)(i + r);
  return out.words[9];
}

KERNEL(copy32) {
  for (uint64_t r = 0; r < rounds; r++)
    for (uint32_t i = 0; i < 1000; i++) out.words[i] = in.words[i] + (uint32_t)r;
  return out.words[99];
}

KERNEL(reverse) {
  for (uint64_t r = 0; r < rounds; r++)
    for (int low = 0, high = 999; low < high; low++, high--) {
      uint8_t byte = in.bytes[low];
      in.bytes[low] = in.bytes[high], in.bytes[high] = byte;
    }
  return in.bytes[5];
}

KERNEL(histogram) {
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 2000; i++) out.words[in.bytes[i]]++;
  return out.words[17];
}

KERNEL(collatz) {
  uint64_t steps = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (uint32_t n = 2; n < 40; n++)
      for (uint32_t x = n; x != 1; steps++) {
        if (x & 1)
          x = 3 * x + 1;
        else
          x /= 2;
      }
  return steps;
}

KERNEL(threshold) {
  uint64_t kept = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 1000; i++)
      if (in.words[i] > 1u << 28) out.words[kept++ & 1023] = in.words[i];
  return kept;
}

KERNEL(lines) {
  uint64_t found = 0, quoted = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 2000; i++) {
      if (in.bytes[i] == '\n') {
        found++;
        out.bytes[found & 255] = 1;
      } else if (in.bytes[i] == '"') {
        quoted ^= found;
      }
    }
  return found + quoted;
}

KERNEL(state_machine) {
  uint32_t state = 0, sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 1000; i++) {
      uint32_t byte = in.bytes[i];
      switch (state) {
        case 0: state = byte & 3; sum += byte; break;
        case 1: state = byte > 100 ? 4 : 2; sum ^= byte; break;
        case 2: state = byte & 1 ? 3 : 0; sum -= byte; break;
        case 3: state = 5; sum += sum >> 3; break;
        case 4: state = byte & 5; sum *= 3; break;
        default: state = 0; sum ^= state; break;
      }
    }
  return sum;
}

KERNEL(parse_decimals) {
  uint64_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++) {
    uint64_t number = 0;
    for (int i = 0; i < 1000; i++) {
      uint32_t digit = in.bytes[i] & 15;
      if (digit < 10)
        number = number * 10 + digit;
      else
        sum += number, number = 0;
    }
  }
  return sum;
}

KERNEL(varints) {
  uint64_t sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int at = 0; at < 1000;) {
      uint32_t value = 0, byte, shift = 0;
      do {
        byte = in.bytes[at++];
        value |= (byte & 127) << shift;
        shift = (shift + 7) & 31;
      } while (byte & 128);
      sum += value;
    }
  return sum;
}

KERNEL(compare_strings) {
  uint64_t less = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 200; i++) {
      const uint8_t *a = in.bytes + i, *b = in.bytes + 3 * i;
      int at = 0;
      while (at < 16 && (a[at] & 1) == (b[at] & 1)) at++;
      less += at < 16 && a[at] < b[at];
    }
  return less;
}

KERNEL(binary_search) {
  uint64_t found = 0;
  for (int i = 0; i < 1024; i++) out.words[i] = (uint32_t)i * 3;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 50; i++) {
      uint32_t key = in.words[i] & 4095, low = 0, high = 1024;
      while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (out.words[middle] < key)
          low = middle + 1;
        else
          high = middle;
      }
      found += low;
    }
  return found;
}

KERNEL(insertion_sort) {
  for (uint64_t r = 0; r < rounds; r++) {
    for (int i = 0; i < 32; i++) out.words[i] = in.words[i + (r & 511)];
    for (int i = 1; i < 32; i++) {
      uint32_t key = out.words[i];
      int j = i;
      for (; j > 0 && out.words[j - 1] > key; j--) out.words[j] = out.words[j - 1];
      out.words[j] = key;
    }
  }
  return out.words[5];
}

static void sift(uint32_t *heap, int at, int count) {
  for (int child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && heap[child] < heap[child + 1]) child++;
    if (heap[at] >= heap[child]) return;
    uint32_t moved = heap[at];
    heap[at] = heap[child], heap[child] = moved;
  }
}

KERNEL(heap_sort) {
  for (uint64_t r = 0; r < rounds; r++) {
    for (int i = 0; i < 64; i++) out.words[i] = in.words[i + (r & 511)];
    for (int i = 31; i >= 0; i--) sift(out.words, i, 64);
    for (int end = 63; end > 0; end--) {
      uint32_t most = out.words[0];
      out.words[0] = out.words[end], out.words[end] = most;
      sift(out.words, 0, end);
    }
  }
  return out.words[5];
}

__attribute__((noinline)) static uint32_t fib(uint32_t n) {
  if (n < 2) return n;
  uint32_t before = fib(n - 1);
  return before + fib(n - 2);
}

KERNEL(fibonacci) {
  uint64_t sum = 0;
  TIMES(rounds) {
    uint32_t n = 12;
    __asm__ volatile("" : "+r"(n)); /* or one call would do for all rounds */
    sum += fib(n);
  }
  return sum;
}

__attribute__((noinline)) static uint32_t leaf(uint32_t a, uint32_t b) {
  __asm__ volatile("");
  return (a ^ b) + 1;
}

KERNEL(leaf_calls) {
  uint32_t x = 1;
  TIMES(rounds * 500) x = leaf(x, (uint32_t)i);
  return x;
}

static uint32_t plus(uint32_t a, uint32_t b) { return a + b; }
static uint32_t xored(uint32_t a, uint32_t b) { return a ^ b; }
static uint32_t shifted(uint32_t a, uint32_t b) { return a << 1 ^ b; }
static uint32_t (*const volatile FUNCTIONS[4])(uint32_t, uint32_t) = {plus, xored, shifted, leaf};

KERNEL(indirect_calls) {
  uint32_t x = 1;
  TIMES(rounds * 500) x = FUNCTIONS[i & 3](x, (uint32_t)i);
  return x;
}

KERNEL(crc_table) {
  for (uint32_t n = 0; n < 256; n++) out.words[n] = n * 0xedb88320u;
  uint32_t crc = ~0u;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 2000; i++) crc = crc >> 8 ^ out.words[(crc ^ in.bytes[i]) & 255];
  return crc;
}

KERNEL(crc_bits) {
  uint32_t crc = ~0u;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 100; i++) {
      crc ^= in.bytes[i];
      for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
  return crc;
}

KERNEL(fnv) {
  uint32_t hash = 2166136261u;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 1000; i++) hash = (hash ^ in.bytes[i]) * 16777619u;
  return hash;
}

KERNEL(adler) {
  uint32_t a = 1, b = 0;
  for (uint64_t r = 0; r < rounds; r++) {
    for (int i = 0; i < 1000; i++) a += in.bytes[i], b += a;
    a %= 65521, b %= 65521;
  }
  return (uint64_t)b << 16 | a;
}

KERNEL(runs) {
  uint64_t words = 0;
  for (uint64_t r = 0; r < rounds; r++) {
    uint64_t pending = 0;
    uint32_t bits = 0;
    for (int i = 0; i < 500; i++) {
      pending |= (uint64_t)(in.words[i] & 0x7fffffff) << bits;
      bits += 31;
      if (bits >= 32) {
        out.words[words++ & (WORDS - 1)] = (uint32_t)pending;
        pending >>= 32, bits -= 32;
      }
    }
  }
  return words;
}

KERNEL(matrix) {
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 10; j++) {
        uint32_t sum = 0;
        for (int k = 0; k < 10; k++) sum += in.words[10 * i + k] * in.words[10 * k + j + 100];
        out.words[10 * i + j] = sum;
      }
  return out.words[42];
}
