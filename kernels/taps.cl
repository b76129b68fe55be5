// The filter of half samples of H.264 for samples of eight bits, two sums at a time in the halves of a word. Included after
// common.cl.
//
// Numbers and sums of a word of four samples are a pair of words: in their halves the samples 0 and 2, and 1 and 3.

// With the bias sums are positive, so that none borrows from the other half.
#define BIAS (32 * SHIFTED_BIAS + 16)

// What the bias is after a division by 32, besides the half that rounds. The filter of biased sums multiplies it by 32,
// so after the division by 1024 it is the same.
#define SHIFTED_BIAS 80

static inline uint2 numbers_of(uint word)
{
    return (uint2)(word & 0x00ff00ffu, word >> 8 & 0x00ff00ffu);
}

// The second number of `low`, and the first of `high`.
static inline uint between(uint low, uint high)
{
    return as_uint((ushort2)(as_ushort2(low).y, as_ushort2(high).x));
}

// The filter of H.264 for points halfway between c and d, with the bias.
static inline uint2 six_taps(uint2 a, uint2 b, uint2 c, uint2 d, uint2 e, uint2 f)
{
    return a + f + 5u * (4u * (c + d) - (b + e)) + BIAS * 0x00010001u;
}

// Four numbers, less the bias, limited to samples.
static inline uint samples_of(int a, int b, int c, int d)
{
#if FOUR_SAMPLES & FOUR_PACK
    uint result;
    asm("{ .reg .u32 high; cvt.pack.sat.u8.s32.b32 high, %4, %3, 0; cvt.pack.sat.u8.s32.b32 %0, %2, %1, high; }"
        : "=r"(result)
        : "r"(a - SHIFTED_BIAS), "r"(b - SHIFTED_BIAS), "r"(c - SHIFTED_BIAS), "r"(d - SHIFTED_BIAS));
    return result;
#else
    const int least = SHIFTED_BIAS, most = SHIFTED_BIAS + 255;
    const uint low = (uint)clamp(a, least, most) + ((uint)clamp(b, least, most) << 8);
    const uint high = (uint)clamp(c, least, most) + ((uint)clamp(d, least, most) << 8);
    return low + (high << 16) - SHIFTED_BIAS * 0x01010101u;
#endif
}

// Samples from the sums of six_taps, divided by 32.
static inline uint rounded(uint2 sums)
{
    return samples_of((int)(sums.x >> 5 & 0x7ff), (int)(sums.y >> 5 & 0x7ff), (int)(sums.x >> 21), (int)(sums.y >> 21));
}

// The sums of the filter along the row, of the numbers of a word between others.
static inline uint2 taps_between(uint2 before, uint2 word, uint2 after)
{
    // Samples -2 to 4 from the first of each half.
    const uint b = between(before.y, word.y), e = between(word.x, after.x), f = between(word.y, after.y);
    const uint a = between(before.x, word.x);
    return six_taps((uint2)(a, b), (uint2)(b, word.x), word, (uint2)(word.y, e), (uint2)(e, f), (uint2)(f, after.x));
}

// The same, of the word at `from`.
static inline uint2 taps_across(__local const uint *from)
{
    return taps_between(numbers_of(from[-1]), numbers_of(from[0]), numbers_of(from[1]));
}

// One of four samples from the sums at `shift` bits in their words, by the filter down the rows.
static inline int both_ways(uint outer, uint middle, uint inner, uint shift)
{
    const int o = (int)(outer >> shift & 0xffff), m = (int)(middle >> shift & 0xffff);
    const int i = (int)(inner >> shift & 0xffff);
    return (o - 5 * m + 20 * i) >> 10;
}

// Samples from the sums along six rows.
static inline uint rounded_both_ways(uint2 a, uint2 b, uint2 c, uint2 d, uint2 e, uint2 f)
{
    const uint2 outer = a + f, middle = b + e, inner = c + d;
    return samples_of(both_ways(outer.x, middle.x, inner.x, 0), both_ways(outer.y, middle.y, inner.y, 0),
                      both_ways(outer.x, middle.x, inner.x, 16), both_ways(outer.y, middle.y, inner.y, 16));
}
