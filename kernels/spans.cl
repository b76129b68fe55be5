// Rows of a block as spans: the widest of four, two words and one that divides the row. The papers
// have blocks of 16 and read 16 samples at once, Uta as int4 (6.2.1), Zhang as uchar16 (II-C).
// Included after common.cl.

#if BLOCK_WORDS % 4 == 0
#define SPAN_WORDS 4
typedef uint4 Span;
#define COMPARE_SPAN(c, r, cost) \
    compare_word((c).w, (r).w,   \
                 compare_word((c).z, (r).z, compare_word((c).y, (r).y, compare_word((c).x, (r).x, cost))))
#define AS_SPAN(samples) as_uint4(samples)
#elif BLOCK_WORDS % 2 == 0
#define SPAN_WORDS 2
typedef uint2 Span;
#define COMPARE_SPAN(c, r, cost) compare_word((c).y, (r).y, compare_word((c).x, (r).x, cost))
#define AS_SPAN(samples) as_uint2(samples)
#else
#define SPAN_WORDS 1
typedef uint Span;
#define COMPARE_SPAN(c, r, cost) compare_word(c, r, cost)
#define AS_SPAN(samples) as_uint(samples)
#endif

// Samples of a span.
#define SPAN (SPAN_WORDS * WORD_SAMPLES)

#if SAMPLE_BITS == 8 && SPAN_WORDS == 4
typedef uchar16 Samples;
#define LOAD_SAMPLES(pointer) vload16(0, pointer)
#elif SAMPLE_BITS == 8 && SPAN_WORDS == 2
typedef uchar8 Samples;
#define LOAD_SAMPLES(pointer) vload8(0, pointer)
#elif SAMPLE_BITS == 8
typedef uchar4 Samples;
#define LOAD_SAMPLES(pointer) vload4(0, pointer)
#elif SPAN_WORDS == 4
typedef ushort8 Samples;
#define LOAD_SAMPLES(pointer) vload8(0, pointer)
#else
typedef ushort4 Samples;
#define LOAD_SAMPLES(pointer) vload4(0, pointer)
#endif

#define BLOCK_SPANS (BLOCK / SPAN)

// Without instructions for four samples, terms of 8 bits are added up in 16 lanes of 16 bits. A lane
// of the largest block takes 64 rows of 4 spans: 64 * 4 * 255 = 65280, which fits.
#define HAS_LANES (SAMPLE_BITS == 8 && TERM_BITS == 8 && !HAS_ADD_FOUR)

// `lanes` plus the terms of the samples in `c` and `r`.
static inline ushort16 add_lanes(uchar16 c, uchar16 r, ushort16 lanes)
{
    return lanes + convert_ushort16(TERM(max(c, r) - min(c, r)));
}

// The sum of the lanes.
static inline uint sum_lanes(ushort16 lanes)
{
    const uint8 eight = convert_uint8(lanes.lo) + convert_uint8(lanes.hi);
    const uint4 four = eight.lo + eight.hi;
    return (four.x + four.y) + (four.z + four.w);
}

// `Sums` is a cost while spans are added to it: `add_span` is `sums` plus the terms of the samples in
// `c` and `r`, `total` the cost.
#if SPAN == 16 && HAS_LANES
typedef ushort16 Sums;

static inline Sums add_span(Samples c, Samples r, Sums sums)
{
    return add_lanes(c, r, sums);
}

static inline uint total(Sums sums)
{
    return sum_lanes(sums);
}
#elif SAMPLE_BITS > 8 && SPAN == 8
typedef uint8 Sums;

static inline Sums add_span(Samples c, Samples r, Sums sums)
{
    const uint8 difference = convert_uint8(abs_diff(c, r));
    return sums + TERM(difference);
}

static inline uint total(Sums sums)
{
    const uint4 four = sums.lo + sums.hi;
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
