// What all kernels share: the layout of frames, the metric, the order of candidates, the record of a vector, and where
// samples between samples come from.
//
// A frame lies in a buffer with a margin on each side, so that kernels need no branch at the edges.
// The sample at (x, y), counted from the frame's first sample, begins with byte
//     (y + top) * pitch + left + x * sizeof(sample_t)
// of its buffer, for x from x0 to extended_width + x1 and a few bytes more, and for y from y0 to
// extended_height + y1. If only some rows of blocks are searched, the first of them is row 0, and
// `above` rows of samples lie above it. pitch and left are multiples of 64 bytes, so every row is
// aligned.
//
// A word is 32 bits: four samples, or two of more than eight bits.
//
// Written for OpenCL C 1.2; FOUR_SAMPLES alone uses extensions.

// A record of the metadata: x and y in quarter samples.
typedef struct {
    short x, y;
    uint cost;
} MotionVector;

// Side of a block in samples: a multiple of 4 from 4 to 64.
#ifndef BLOCK
#define BLOCK 16
#endif

// The metric: METRIC_SAD, the sum of absolute differences, or METRIC_SSD, that of squared differences.
#define METRIC_SAD 1
#define METRIC_SSD 2
#ifndef METRIC
#define METRIC METRIC_SAD
#endif

// Instructions for four samples, the sum of these; 0: none, portable OpenCL C.
#define FOUR_VABSDIFF4 1    // NVIDIA's vabsdiff4 as inline PTX, which only NVIDIA's compiler accepts
#define FOUR_DP4A 2         // NVIDIA's dp4a as inline PTX, from compute capability 6.1 on
#define FOUR_AMD_SAD 4      // amd_sad of the extension cl_amd_media_ops
#define FOUR_DOT_PRODUCT 8  // dot_4x8packed_uu_uint of the extension cl_khr_integer_dot_product
#define FOUR_PACK 16        // NVIDIA's cvt.pack as inline PTX, from compute capability 7.2 on
#ifndef FOUR_SAMPLES
#define FOUR_SAMPLES 0
#endif
#if FOUR_SAMPLES & FOUR_AMD_SAD
#pragma OPENCL EXTENSION cl_amd_media_ops : enable
#endif
#if FOUR_SAMPLES & FOUR_DOT_PRODUCT
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif

// Bits of a sample in memory: 8, or 16 for samples of more than eight bits.
#ifndef SAMPLE_BITS
#define SAMPLE_BITS 8
#endif
#if SAMPLE_BITS == 8
typedef uchar sample_t;
#else
typedef ushort sample_t;
#endif
#define WORD_SAMPLES (32 / SAMPLE_BITS)

// Work-items of a group, if the build fixes them (GROUP_SIZE). If it does not, a compiler may allow
// fewer than the device has: NVIDIA's allows 256 of 1024.
#ifdef GROUP_SIZE
#define FIXED_GROUP __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
#else
#define FIXED_GROUP
#endif

// Words in a row of a block.
#define BLOCK_WORDS (BLOCK / WORD_SAMPLES)

// The same fields as the host's `Geometry`.
typedef struct {
    int pitch, left, top;                 // layout of a frame: bytes, bytes, rows
    int columns, rows;                    // grid of blocks
    int above;                            // rows of the extended frame above the grid
    int extended_width, extended_height;  // the extended frame from the grid's first row on
    int x0, y0;                           // first displacement of the window
    int window_columns, window_rows;      // positions of the window
    int inside_only;                      // 1: only candidates inside the extended frame count
} Geometry;

// Greater than the key of every candidate.
#define WORST_KEY ((ulong)-1)

// The address of the sample at (x, y).
static inline __global const sample_t *sample_at(__global const uchar *frame, Geometry g, int x, int y)
{
    const int column = x * (int)sizeof(sample_t) + g.left;
    return (__global const sample_t *)(frame + (size_t)(y + g.top) * (size_t)g.pitch + (size_t)column);
}

#define HAS_ADD_DIFFERENCES (FOUR_SAMPLES & (FOUR_VABSDIFF4 | FOUR_AMD_SAD))
#define HAS_ADD_SQUARES (FOUR_SAMPLES & (FOUR_DP4A | FOUR_DOT_PRODUCT))

#if HAS_ADD_DIFFERENCES
// `sum` plus the absolute differences of the four samples in `c` and `r`.
static inline uint add_differences(uint c, uint r, uint sum)
{
#if FOUR_SAMPLES & FOUR_VABSDIFF4
    uint result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(c), "r"(r), "r"(sum));
    return result;
#else
    return amd_sad(c, r, sum);
#endif
}
#endif

#if HAS_ADD_SQUARES
// `sum` plus the squared differences of the four samples in `c` and `r`.
static inline uint add_squares(uint c, uint r, uint sum)
{
#if FOUR_SAMPLES & FOUR_DP4A
    uint differences, result;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(differences) : "r"(c), "r"(r), "r"(0));
    asm("dp4a.u32.u32 %0, %1, %1, %2;" : "=r"(result) : "r"(differences), "r"(sum));
    return result;
#else
    const uint differences = as_uint(abs_diff(as_uchar4(c), as_uchar4(r)));
    return sum + dot_4x8packed_uu_uint(differences, differences);
#endif
}
#endif

// What defines a metric; all kernels but elimination.cl, which adds its lower bounds, need no more.
//
//   TERM(d)               what a difference d = |c - r| of two samples adds to a cost; d is an integer
//                         or a vector of integers that holds TERM_BITS bits
//   TERM_BITS             bits of the largest term
//   ADD_FOUR(c, r, cost)  `cost` plus the terms of four samples, by instructions, if HAS_ADD_FOUR
#if METRIC == METRIC_SAD
#define TERM(d) (d)
#define TERM_BITS 8
#define HAS_ADD_FOUR HAS_ADD_DIFFERENCES
#define ADD_FOUR add_differences
#elif METRIC == METRIC_SSD
#define TERM(d) ((d) * (d))
#define TERM_BITS 16
#define HAS_ADD_FOUR HAS_ADD_SQUARES
#define ADD_FOUR add_squares
#else
#error "unknown METRIC"
#endif

// The term of two samples.
static inline uint compare_sample(sample_t c, sample_t r)
{
    const uint difference = abs_diff(c, r);
    return TERM(difference);
}

// `cost` plus the terms of the four samples in `c` and `r`.
static inline uint compare_four(uint c, uint r, uint cost)
{
#if HAS_ADD_FOUR
    return ADD_FOUR(c, r, cost);
#else
    const uint4 difference = convert_uint4(abs_diff(as_uchar4(c), as_uchar4(r)));
    const uint4 term = TERM(difference);
    return cost + (term.x + term.y) + (term.z + term.w);
#endif
}

// `cost` plus the terms of the samples of the words `c` and `r`.
static inline uint compare_word(uint c, uint r, uint cost)
{
#if SAMPLE_BITS == 8
    return compare_four(c, r, cost);
#else
    const uint first = abs_diff(c & 0xffff, r & 0xffff), second = abs_diff(c >> 16, r >> 16);
    return cost + TERM(first) + TERM(second);
#endif
}

// The word that begins `shift` samples, at most WORD_SAMPLES, into `low` and continues in `high`.
static inline uint join_words(uint low, uint high, uint shift)
{
    return (uint)(((ulong)high << 32 | low) >> (SAMPLE_BITS * shift));
}

// Displacement number `number` of the window, counted row by row.
static inline int2 displacement_at(Geometry g, int number)
{
    return (int2)(g.x0 + number % g.window_columns, g.y0 + number / g.window_columns);
}

// Whether the candidate (x, y) counts for the block at `column`, `row`.
static inline bool counts(Geometry g, int column, int row, int x, int y)
{
    const int left = column * BLOCK + x, top = row * BLOCK + y;
    return !g.inside_only || (left >= 0 && top >= -g.above && left + BLOCK <= g.extended_width &&
                              top + BLOCK <= g.extended_height);
}

// A candidate's order key: keys compare as (cost, |x| + |y|, y, x) does, and the smallest wins.
// Equal to the host's `OrderKey`.
static inline ulong order_key(uint cost, int x, int y)
{
    const uint tie = (abs(x) + abs(y)) << 16 | (uint)(y + 8192) << 1 | (uint)(x > 0);
    return (ulong)cost << 32 | tie;
}

// The record of the candidate with this key.
static inline MotionVector vector_of_key(ulong key)
{
    const uint tie = (uint)key;
    const int y = (int)(tie >> 1 & 0x7fff) - 8192;
    const int length = (int)(tie >> 16) - (int)abs(y);
    MotionVector vector;
    vector.x = (short)(4 * ((tie & 1) ? length : -length));
    vector.y = (short)(4 * y);
    vector.cost = (uint)(key >> 32);
    return vector;
}

// Leaves the smallest of `count` keys in keys[0]. Every item of a one-dimensional group of at least
// `count` items calls it, after writing its own key.
//
// Uta's parallel reduction (text of section 6.1): half of the keys are folded into the other half until
// one is left. If their number is odd, the middle one waits for the next step, so any count works.
static inline void smallest_key(__local ulong *keys, uint count)
{
    const uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    while (count > 1) {
        const uint half_count = (count + 1) / 2;
        if (item < count / 2)
            keys[item] = min(keys[item], keys[item + half_count]);
        barrier(CLK_LOCAL_MEM_FENCE);
        count = half_count;
    }
}

// Defines a function that copies `rows` rows of `columns` elements of type FROM to local memory, as TO. The source rows
// begin at `first_sample`, aligned to elements, and are `pitch` bytes apart; element j of row i goes to
// i * to_columns + j. Every item of a one-dimensional group calls it and runs the loop equally often. A barrier
// must follow.
#define DEFINE_STAGE(NAME, TO, FROM)                                                                         \
    static inline void NAME(__local TO *to, int to_columns, __global const sample_t *first_sample,           \
                            int pitch, int columns, int rows)                                                \
    {                                                                                                        \
        __global const uchar *from = (__global const uchar *)first_sample;                                   \
        const int item = (int)get_local_id(0), items = (int)get_local_size(0);                               \
        for (int first = 0; first < rows * columns; first += items) {                                        \
            const int e = first + item, i = e / columns, j = e % columns;                                    \
            if (e < rows * columns)                                                                          \
                to[i * to_columns + j] = ((__global const FROM *)(from + (size_t)i * (size_t)pitch))[j];     \
        }                                                                                                    \
    }

DEFINE_STAGE(stage_words, uint, uint)

// The four averages of two samples, rounded up.
static inline uint average_four(uint a, uint b)
{
    return (a | b) - ((a ^ b) >> 1 & 0x7f7f7f7fu);
}

// The filter of half samples of H.264, without its division by 32.
#define SIX_TAPS(a, b, c, d, e, f) ((a) + (f) - 5 * ((b) + (e)) + 20 * ((c) + (d)))

// The two points whose average is the sample at `position`, in quarter samples, by the luma interpolation of H.264: each
// in half samples from the whole sample at or before the position.
//
// A quarter position is the average of two points of the lattice of half samples. Where only one
// coordinate is odd, these are its two neighbours on that axis. Where both are, they are the two of its
// four neighbours that are half samples on one axis alone.
static inline void points_around(int2 position, int2 *first, int2 *second)
{
    const int2 half_point = position >> 1 & 1, odd = position & 1;
    const int crossed = odd.x & odd.y & ~(half_point.x ^ half_point.y);
    *first = half_point + (int2)(crossed, 0);
    *second = half_point + odd - (int2)(crossed, 0);
}
