// What every kernel shares: the layout of frames, the comparison of samples, the order of
// candidates.
//
// A frame lies in a buffer with room around it, so that no kernel needs a branch at the edge.
// The sample at (x, y), counted from the frame's first, is byte
//     (y + top) * pitch + (x + left)
// of its buffer, for x from x0 to extended_width + x1 and some bytes past that, and for y from y0
// to extended_height + y1. Where a part of the frame is searched, its first row of blocks is row
// 0, and there are `above` rows of samples more on top. pitch and left are multiples of 64 bytes:
// every row starts aligned.
//
// Written for OpenCL C 1.2, without extensions.

#include "vectors.cl"

// Side of a block in samples: a multiple of 4 from 4 to 64.
#ifndef BLOCK
#define BLOCK 16
#endif

// 0: sum of absolute differences; 1: sum of squared differences.
#ifndef METRIC_SSD
#define METRIC_SSD 0
#endif

// How four samples are compared. 0: portable OpenCL C; 1: NVIDIA's vabsdiff4 by inline PTX, which
// only NVIDIA's compiler takes; 2: its dp4a too, which devices of compute capability 6.1 and up have.
#ifndef FOUR_SAMPLES
#define FOUR_SAMPLES 0
#endif

// Work-items of a work-group, where that is known when the program is built. A compiler that does
// not know it may allow fewer than the device has: NVIDIA's allows 256 of 1024.
#ifdef GROUP_SIZE
#define FIXED_GROUP __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
#else
#define FIXED_GROUP
#endif

// Words of four samples in a row of a block.
#define BLOCK_WORDS (BLOCK / 4)

// Field for field the host's `Geometry`.
typedef struct {
    int pitch, left, top;                 // layout of a frame, bytes and rows
    int columns, rows;                    // grid of blocks
    int above;                            // rows of the extended frame above the grid's first
    int extended_width, extended_height;  // the extended frame from the grid's first row on
    int x0, y0;                           // first displacement of the window
    int window_columns, window_rows;      // positions of the window
    int inside_only;                      // 1: only candidates inside the extended frame count
} Geometry;

// Worse than every candidate.
#define WORST_KEY ((ulong)-1)

// The sample at (x, y), or with it the row that goes on to the right.
static inline __global const uchar *sample_at(__global const uchar *frame, Geometry g, int x, int y)
{
    return frame + (size_t)(y + g.top) * (size_t)g.pitch + (size_t)(x + g.left);
}

// What two samples add to a cost.
static inline uint compare_sample(uchar c, uchar r)
{
    const uint difference = abs_diff(c, r);
    return METRIC_SSD ? difference * difference : difference;
}

// `cost` and what the four samples in `c` and `r` add to it.
static inline uint compare_four(uint c, uint r, uint cost)
{
#if FOUR_SAMPLES >= 1 && !METRIC_SSD
    uint sum;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sum) : "r"(c), "r"(r), "r"(cost));
    return sum;
#elif FOUR_SAMPLES >= 2
    uint differences, sum;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(differences) : "r"(c), "r"(r), "r"(0));
    asm("dp4a.u32.u32 %0, %1, %1, %2;" : "=r"(sum) : "r"(differences), "r"(cost));
    return sum;
#else
    const uint4 difference = convert_uint4(abs_diff(as_uchar4(c), as_uchar4(r)));
#if METRIC_SSD
    const uint4 term = difference * difference;
#else
    const uint4 term = difference;
#endif
    return cost + (term.x + term.y) + (term.z + term.w);
#endif
}

// The four samples that start `shift` samples into `low`, going on in `high`; shift is 0 to 3.
static inline uint join_words(uint low, uint high, uint shift)
{
    return (uint)(((ulong)high << 32 | low) >> (8 * shift));
}

// Whether the candidate (x, y) counts for the block at `column`, `row`.
static inline bool counts(Geometry g, int column, int row, int x, int y)
{
    const int left = column * BLOCK + x, top = row * BLOCK + y;
    return !g.inside_only || (left >= 0 && top >= -g.above && left + BLOCK <= g.extended_width &&
                              top + BLOCK <= g.extended_height);
}

// Cost and displacement in one number whose order is that of full search: smallest
// (cost, |x| + |y|, y, x). Bit for bit the host's `OrderKey`.
static inline ulong order_key(uint cost, int x, int y)
{
    const uint tie = (abs(x) + abs(y)) << 16 | (uint)(y + 8192) << 1 | (uint)(x > 0);
    return (ulong)cost << 32 | tie;
}

// The record of the candidate in `key`.
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

// The smallest of the `count` keys in local memory, left in keys[0]. All items of a
// one-dimensional group of at least `count` items take part; each has written its own key.
//
// Figure 3's parallel reduction: half of the keys are folded into the other half until one is
// left. Where their number is odd the middle one waits for the next step, so any count works.
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

// Copies `rows` rows of `words` words to local memory. from: the first, aligned to words, the next
// `pitch` bytes further; to: word j of row i at i * to_words + j. All items of a one-dimensional
// group take part, and run the loop equally often; who reads comes after a barrier.
static inline void stage_words(__local uint *to, int to_words, __global const uchar *from, int pitch,
                               int words, int rows)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int first = 0; first < rows * words; first += items) {
        const int w = first + item, i = w / words, j = w % words;
        if (w < rows * words)
            to[i * to_words + j] = ((__global const uint *)(from + (size_t)i * (size_t)pitch))[j];
    }
}
