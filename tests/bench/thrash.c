/* Evict the caches of one core: read and write 16 MB of data, and run about 1 MB of code. */
#include <stdint.h>

#define BYTES (16u << 20)
static uint8_t data[BYTES];

#define STEP(n) static uint64_t __attribute__((noinline)) f##n(uint64_t x) { \
    x = x * 6364136223846793005ull + n; x ^= x >> 29; x = x * 2862933555777941757ull + n; x ^= x >> 31; \
    x = x * 3202034522624059733ull + n; x ^= x >> 27; x = x * 3935559000370003845ull + n; x ^= x >> 33; \
    x = x * 6364136223846793005ull + n; x ^= x >> 29; x = x * 2862933555777941757ull + n; x ^= x >> 31; \
    x = x * 3202034522624059733ull + n; x ^= x >> 27; x = x * 3935559000370003845ull + n; x ^= x >> 33; \
    return x; }
#define CALL(n) x = f##n(x);
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HUNDRED(M, n) TEN(M, n##0) TEN(M, n##1) TEN(M, n##2) TEN(M, n##3) TEN(M, n##4) \
    TEN(M, n##5) TEN(M, n##6) TEN(M, n##7) TEN(M, n##8) TEN(M, n##9)
#define THOUSAND(M, n) HUNDRED(M, n##0) HUNDRED(M, n##1) HUNDRED(M, n##2) HUNDRED(M, n##3) HUNDRED(M, n##4) \
    HUNDRED(M, n##5) HUNDRED(M, n##6) HUNDRED(M, n##7) HUNDRED(M, n##8) HUNDRED(M, n##9)

THOUSAND(STEP, 1)
THOUSAND(STEP, 2)
THOUSAND(STEP, 3)

uint64_t thrash(uint64_t x) {
    for (uint32_t at = 0; at < BYTES; at += 64)
        data[at] = (uint8_t)(x += data[at] + at);
    THOUSAND(CALL, 1)
    THOUSAND(CALL, 2)
    THOUSAND(CALL, 3)
    return x;
}
