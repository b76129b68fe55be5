// Sub-sample refinement of the vectors of full and three-step search: the eight candidates half a sample
// around the winner of whole samples, then the eight a quarter of a sample around the best of these.
//
// docs/how/search.md defines it. ITEMS items share a block. They copy the samples around its match to local
// memory, interpolate the half samples of H.264 there, and compare each candidate a word at a time.
// The half samples of all sixteen candidates are those of one square, a sample larger than the block on each
// side, so a block reads its reference once, and no plane of the whole frame is needed. A block whose square does not
// fit local memory is divided into tiles of TILE_ROWS rows, whose samples are read and interpolated for each step.
//
//   vectors  record of block (column, row) at row * columns + column: the winner, which is replaced
//
// The square of a tile is kept as four planes of READ_ROWS rows of READ_WORDS words: whole samples, half a sample to
// the right, half below, and both. Row REACH and the second sample of word 1 are those of the tile's first sample: left
// of the word after the first there is room for what the filters read of plane 0.

#include "common.cl"
#if SAMPLE_BITS == 8
#include "taps.cl"
#endif

// Items that share a block: a multiple of 8.
#ifndef ITEMS
#define ITEMS 32
#endif

// Blocks of a group.
#ifndef LANES
#define LANES 4
#endif

// Quarter samples of the last step: 2 or 1.
#ifndef LAST_STEP
#define LAST_STEP 1
#endif

// Rows of a tile: divides BLOCK.
#ifndef TILE_ROWS
#define TILE_ROWS BLOCK
#endif

// Bits of a sample.
#ifndef DEPTH
#define DEPTH SAMPLE_BITS
#endif
#define PEAK ((1 << DEPTH) - 1)

// Samples that a filter reads beyond the block.
#define REACH 3

// Words of a row of the square, and those that the filters read after them.
#define WORDS (BLOCK_WORDS + 1)
#define WORDS_AFTER (SAMPLE_BITS == 8 ? 1 : 2)

// Rows and words of a plane.
#define READ_ROWS (TILE_ROWS + 2 * REACH)
#define READ_WORDS (1 + WORDS + WORDS_AFTER)
#define PLANE (READ_ROWS * READ_WORDS)

// Candidates of a step.
#define AROUND 8

// Rows of half samples that an item makes below one another: each row that it reads serves several.
#define STRIP 3

// The samples of a word, or what the filter makes of them.
#if SAMPLE_BITS == 8
typedef uint2 numbers_t;  // as in taps.cl
#else
typedef int2 numbers_t;
#endif

// What the items of a block share.
typedef struct {
    uint planes[4 * PLANE];
    union {
        numbers_t across[READ_ROWS * WORDS];  // sums of the filter along rows: word j of row i at i * WORDS + j
        uint costs[AROUND * ITEMS];           // candidate c, item i: at c * ITEMS + i
    } scratch;
    uint parts[ITEMS];                        // sums of the costs of eight items
    ulong keys[AROUND];
} Shared;

#if SAMPLE_BITS == 8
#define average_word average_four
#else
static inline numbers_t numbers_of(uint word)
{
    return (int2)((int)(word & 0xffff), (int)(word >> 16));
}

// The filter of H.264 for points halfway between c and d.
static inline int2 six_taps(int2 a, int2 b, int2 c, int2 d, int2 e, int2 f)
{
    return SIX_TAPS(a, b, c, d, e, f);
}

// Two numbers, limited to samples.
static inline uint samples_of(int2 numbers)
{
    // Each by itself, because oclgrind is wrong about a vector and scalar limits.
    return (uint)clamp(numbers.x, 0, PEAK) | (uint)clamp(numbers.y, 0, PEAK) << 16;
}

// Samples from the sums of six_taps, divided by 32.
static inline uint rounded(int2 sums)
{
    return samples_of((sums + 16) >> 5);
}

// The sums of the filter along the row, of the word at `from`.
static inline int2 taps_across(__local const uint *from)
{
    const int2 before = numbers_of(from[-1]), word = numbers_of(from[0]), after = numbers_of(from[1]);
    return six_taps(before, (int2)(before.y, word.x), word, (int2)(word.y, after.x), after,
                    (int2)(after.y, numbers_of(from[2]).x));
}

// Samples from the sums along six rows.
static inline uint rounded_both_ways(int2 a, int2 b, int2 c, int2 d, int2 e, int2 f)
{
    return samples_of((six_taps(a, b, c, d, e, f) + 512) >> 10);
}

// The two averages of two samples, rounded up.
static inline uint average_word(uint a, uint b)
{
    return (a | b) - ((a ^ b) >> 1 & 0x7fff7fffu);
}
#endif

// Word `word` of row `row` of the tile displaced by `point`, in half samples, -2 to 2.
static inline uint word_at(__local const uint *planes, int2 point, int word, int row)
{
    const int plane = 2 * (point.y & 1) + (point.x & 1);
    const int2 whole = point >> 1;
    __local const uint *from = planes + plane * PLANE + (row + REACH + whole.y) * READ_WORDS + word + 1;
    // The tile's first sample is sample 1 of its word.
    return join_words(from[0], from[1], (uint)(whole.x + 1));
}

// Word `word` of row `row` of the block whose first sample is `origin`.
static inline uint current_word(__global const uchar *current, Geometry g, int2 origin, int word, int row)
{
    return *(__global const uint *)sample_at(current, g, origin.x + WORD_SAMPLES * word, origin.y + row);
}

// The direction of candidate `index` of a step.
static inline int2 direction(int index)
{
    const int number = index + (index >= AROUND / 2);
    return (int2)(number % 3 - 1, number / 3 - 1);
}

// Copies the samples around the tile's match, from `first` on, to plane 0, and makes the other planes of them. The
// group's items all call it.
static inline void interpolate_tile(__local Shared *shared, __global const uchar *reference, Geometry g,
                                    int2 first, int item)
{
    // Rows begin with a word.
    const int skew = first.x & (WORD_SAMPLES - 1);
    __global const uchar *row = (__global const uchar *)sample_at(reference, g, first.x - skew, first.y);
    for (int i = item; i < PLANE; i += ITEMS) {
        __global const uint *from =
            (__global const uint *)(row + (size_t)(i / READ_WORDS) * (size_t)g.pitch) + i % READ_WORDS;
        shared->planes[i] = join_words(from[0], from[1], (uint)skew);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int i = item; i < READ_ROWS * WORDS; i += ITEMS) {
        __local uint *to = shared->planes + i / WORDS * READ_WORDS + i % WORDS + 1;
        const numbers_t sums = taps_across(to);
        shared->scratch.across[i] = sums;
        to[PLANE] = rounded(sums);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // From the row above the tile to its last.
    for (int i = item; i < (TILE_ROWS + STRIP) / STRIP * WORDS; i += ITEMS) {
        const int word = i % WORDS, top = i / WORDS * STRIP;
        __local uint *to = shared->planes + (top + REACH - 1) * READ_WORDS + word + 1;
        // Nothing is made of the rows past the last, where the last is read again.
        numbers_t rows[STRIP + 5];
#pragma unroll
        for (int k = 0; k < STRIP + 5; ++k)
            rows[k] = numbers_of(shared->planes[min(top + k, READ_ROWS - 1) * READ_WORDS + word + 1]);
#pragma unroll
        for (int k = 0; k < STRIP; ++k)
            if (top + k <= TILE_ROWS)
                to[2 * PLANE + k * READ_WORDS] =
                    rounded(six_taps(rows[k], rows[k + 1], rows[k + 2], rows[k + 3], rows[k + 4], rows[k + 5]));
#pragma unroll
        for (int k = 0; k < STRIP + 5; ++k)
            rows[k] = shared->scratch.across[min(top + k, READ_ROWS - 1) * WORDS + word];
#pragma unroll
        for (int k = 0; k < STRIP; ++k)
            if (top + k <= TILE_ROWS)
                to[3 * PLANE + k * READ_WORDS] = rounded_both_ways(rows[k], rows[k + 1], rows[k + 2], rows[k + 3],
                                                                   rows[k + 4], rows[k + 5]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The best of `best` and the candidates whose costs the items have in `costs`: `step` around it. `whole` is the
// block's winner of whole samples, and `best` counts from there, all in quarter samples. The group's items all call it.
static inline int2 best_around(__local Shared *shared, const uint *costs, int2 whole, int2 best, int step,
                               uint *best_cost, int item)
{
#pragma unroll
    for (int c = 0; c < AROUND; ++c)
        shared->scratch.costs[c * ITEMS + item] = costs[c];
    // Also of global memory: all items have read the vector of their block before one writes it.
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint sum = 0;
    for (int i = 0; i < AROUND; ++i)
        // Not in one order, in which four items in a row would share a bank of local memory.
        sum += shared->scratch.costs[item * AROUND + (i + item / 4) % AROUND];
    shared->parts[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < AROUND) {
        uint cost = 0;
        for (int i = 0; i < ITEMS / AROUND; ++i)
            cost += shared->parts[item * (ITEMS / AROUND) + i];
        // Vectors of one length are ordered as they are numbered: the centre lies between the two halves.
        const int2 vector = whole + best + step * direction(item);
        const uint tie = (uint)(abs(vector.x) + abs(vector.y)) << 4 | (uint)(item + (item >= AROUND / 2));
        shared->keys[item] = (ulong)cost << 32 | tie;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int2 centre = whole + best;
    ulong key = (ulong)*best_cost << 32 | (uint)(abs(centre.x) + abs(centre.y)) << 4 | AROUND / 2;
    for (int c = 0; c < AROUND; ++c)
        key = min(key, shared->keys[c]);
    *best_cost = (uint)(key >> 32);
    const int number = (int)(key & 15);
    return best + step * (int2)(number % 3 - 1, number / 3 - 1);
}

// Items ITEMS * l to ITEMS * (l + 1) - 1 of a group refine the vector of its block l.
__kernel FIXED_GROUP void refine_sub_sample(__global const uchar *current, __global const uchar *reference,
                                            __global MotionVector *vectors, Geometry g)
{
    __local Shared lanes[LANES];
    const int item = (int)get_local_id(0) % ITEMS, lane = (int)get_local_id(0) / ITEMS;
    const int number = (int)get_group_id(0) * LANES + lane;
    // Without a block, items do the last one again and write nothing.
    const int block = min(number, g.columns * g.rows - 1);
    const int2 origin = BLOCK * (int2)(block % g.columns, block / g.columns);
    __local Shared *shared = lanes + lane;
    const MotionVector winner = vectors[block];
    const int2 whole = (int2)(winner.x, winner.y);
    // Further outside the frame, the filters read nothing but repeated samples: the same as at this distance.
    const int2 most = (int2)(g.extended_width, g.extended_height) - 1 + REACH;
    const int2 least = (int2)(0, -g.above) - (BLOCK - 1 + REACH);
    const int2 corner = clamp(origin + whole / 4, least, most) - (int2)(WORD_SAMPLES + 1, REACH);

    uint cost = winner.cost, costs[AROUND];
    int2 best = (int2)(0, 0);
#pragma unroll
    for (int c = 0; c < AROUND; ++c)
        costs[c] = 0;
    for (int top = 0; top < BLOCK; top += TILE_ROWS) {
        interpolate_tile(shared, reference, g, corner + (int2)(0, top), item);
        for (int i = item; i < TILE_ROWS * BLOCK_WORDS; i += ITEMS) {
            const int word = i % BLOCK_WORDS, row = i / BLOCK_WORDS;
            const uint samples = current_word(current, g, origin, word, top + row);
#pragma unroll
            for (int c = 0; c < AROUND; ++c)
                costs[c] = compare_word(samples, word_at(shared->planes, direction(c), word, row), costs[c]);
        }
        // Before the next tile takes its place.
        if (TILE_ROWS < BLOCK)
            barrier(CLK_LOCAL_MEM_FENCE);
    }
    best = best_around(shared, costs, whole, best, 2, &cost, item);

#if LAST_STEP == 1
    // A quarter sample is the average of two of the half samples on and around the centre. Where both coordinates
    // are odd, they are those that are half samples on one axis alone.
    const int2 centre = best / 2;
    const bool is_between = ((centre.x ^ centre.y) & 1) != 0;
#pragma unroll
    for (int c = 0; c < AROUND; ++c)
        costs[c] = 0;
    for (int top = 0; top < BLOCK; top += TILE_ROWS) {
        if (TILE_ROWS < BLOCK)
            interpolate_tile(shared, reference, g, corner + (int2)(0, top), item);
        for (int i = item; i < TILE_ROWS * BLOCK_WORDS; i += ITEMS) {
            const int word = i % BLOCK_WORDS, row = i / BLOCK_WORDS;
            const uint samples = current_word(current, g, origin, word, top + row);
            uint around[9];
#pragma unroll
            for (int n = 0; n < 9; ++n)
                around[n] = word_at(shared->planes, centre + (int2)(n % 3 - 1, n / 3 - 1), word, row);
#pragma unroll
            for (int c = 0; c < AROUND; ++c) {
                const int2 to = direction(c);
                const int beyond = 4 + to.x + 3 * to.y;
                const bool is_diagonal = to.x != 0 && to.y != 0;
                const uint first = is_diagonal && !is_between ? around[4 + to.x] : around[4];
                const uint second = is_diagonal && !is_between ? around[4 + 3 * to.y] : around[beyond];
                costs[c] = compare_word(samples, average_word(first, second), costs[c]);
            }
        }
        if (TILE_ROWS < BLOCK)
            barrier(CLK_LOCAL_MEM_FENCE);
    }
    // All items have read the keys of the first step before any writes new ones: best_around waits in between.
    best = best_around(shared, costs, whole, best, 1, &cost, item);
#endif

    if (item == 0 && number < g.columns * g.rows) {
        const MotionVector refined = {(short)(whole.x + best.x), (short)(whole.y + best.y), cost};
        vectors[block] = refined;
    }
}
