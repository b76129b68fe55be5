// Rows of a block in spans: the widest of 16, 8 and 4 samples that divides the block. The papers
// know blocks of 16 and read 16 samples at once, Uta as int4 (6.2.1), Zhang as uchar16 (II-C).
// After common.cl, which has what four samples add to a cost.

#if BLOCK % 16 == 0
#define SPAN 16
typedef uint4 Span;
typedef uchar16 Samples;
#define LOAD_SAMPLES(pointer) vload16(0, pointer)
#define COMPARE_SPAN(c, r, cost) \
    compare_four((c).w, (r).w,   \
                 compare_four((c).z, (r).z, compare_four((c).y, (r).y, compare_four((c).x, (r).x, cost))))
#define AS_SPAN(samples) as_uint4(samples)
#elif BLOCK % 8 == 0
#define SPAN 8
typedef uint2 Span;
typedef uchar8 Samples;
#define LOAD_SAMPLES(pointer) vload8(0, pointer)
#define COMPARE_SPAN(c, r, cost) compare_four((c).y, (r).y, compare_four((c).x, (r).x, cost))
#define AS_SPAN(samples) as_uint2(samples)
#else
#define SPAN 4
typedef uint Span;
typedef uchar4 Samples;
#define LOAD_SAMPLES(pointer) vload4(0, pointer)
#define COMPARE_SPAN(c, r, cost) compare_four(c, r, cost)
#define AS_SPAN(samples) as_uint(samples)
#endif

#define BLOCK_SPANS (BLOCK / SPAN)

// Where four samples are no instruction of the device's, 16 sums of 16 bits run side by side and
// are added up once: a lane of the largest block takes 64 rows of 4 spans, 64 * 4 * 255 = 65280,
// which fits.
#if SPAN == 16 && !METRIC_SSD && FOUR_SAMPLES == 0
typedef ushort16 Sums;

// `sums` and what the samples in `c` and `r` add to them.
static inline Sums add_span(Samples c, Samples r, Sums sums)
{
    return sums + convert_ushort16(max(c, r) - min(c, r));
}

// The cost in `sums`.
static inline uint total(Sums sums)
{
    const uint8 eight = convert_uint8(sums.lo) + convert_uint8(sums.hi);
    const uint4 four = eight.lo + eight.hi;
    return (four.x + four.y) + (four.z + four.w);
}
#else
typedef uint Sums;

static inline Sums add_span(Samples c, Samples r, Sums sums)
{
    return COMPARE_SPAN(AS_SPAN(c), AS_SPAN(r), sums);
}

static inline uint total(Sums sums)
{
    return sums;
}
#endif
