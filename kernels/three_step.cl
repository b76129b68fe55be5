// Three-step search: from the centre (0, 0) on, the best of the nine candidates a step away, or not
// at all, is the next centre, and the step is halved.
//
// D. Bonanno, "Parallelisation of the Block Matching Algorithm Using Three Step Search":
// `three_step_samples` is section II, figure 3, and `three_step_choose` its points c to e.
// `three_step_group` and `three_step_item` are ours: all steps in one launch.
//
// Departures. The paper does three steps; here the first is half the range, whatever that is, and
// each the half of the one before, rounded up: range 7 has its 4, 2 and 1. Its MSE is a float;
// here it is not divided by the samples of a block, so that it is an integer and exact. Which of
// equal costs wins it does not say: the order of keys decides, as everywhere, and so the numbers of
// the nine (its figure 4) cannot: they are counted row by row, 4 is the centre. One of its items
// sums the samples of a pair up; here a tree does, which its section VI thinks of. Its section II
// holds blocks to the 1024 items of a group; here items take several samples of larger ones.
//
//   window   first and last displacement across, first and last down: (x0, x1, y0, y1). The
//            geometry's window is what the layout has room for, a block to each side at most.
//   step     the first step, 0 for a window of the centre alone
//   vectors  the record of block (column, row) at row * columns + column

#include "common.cl"

// Whether the displacement (x, y) counts for the block at `column`, `row`.
static inline bool is_tried(Geometry g, int4 window, int column, int row, int x, int y)
{
    return window.x <= x && x <= window.y && window.z <= y && y <= window.w &&
           counts(g, column, row, x, y);
}

// Where the block at `column`, `row` displaced by (x, y) starts. Further outside than a block lie
// the same samples as there, and they are read there.
static inline int2 place(Geometry g, int column, int row, int x, int y)
{
    return (int2)(clamp(column * BLOCK + x, -BLOCK, g.extended_width),
                  clamp(row * BLOCK + y, -BLOCK - g.above, g.extended_height));
}

// The displacement in a key.
static inline int2 displacement_of_key(ulong key)
{
    const MotionVector vector = vector_of_key(key);
    return (int2)(vector.x / 4, vector.y / 4);
}

// The candidate of `number` 0 to 8 around `centre`.
static inline int2 candidate_around(int2 centre, int number, int step)
{
    return centre + step * (int2)(number % 3 - 1, number / 3 - 1);
}

// The step after `step`, 0 after the last.
static inline int next_step(int step)
{
    return step > 1 ? (step + 1) / 2 : 0;
}

// Figure 3, a and b: a group a pair of block and candidate, an item a sample, a launch a step.
//
// A step needs the winners of the one before, of all nine groups, and groups of one launch cannot
// wait for each other: so a launch is a step, as in the paper, and three_step_choose comes between.
// As the paper has it, the centre is compared again in each step.
//
//   group    pair 9 * block + number
//   winners  the key of block b at b, from the step before; not read in the first step
//   costs    of pair p at p; the largest uint where the candidate does not count
//   sums     a word an item
__kernel FIXED_GROUP void three_step_samples(__global const uchar *current, __global const uchar *reference,
                                             __global const ulong *winners, __global uint *costs,
                                             __local uint *sums, int4 window, int step, int is_first,
                                             Geometry g)
{
    const int pair = (int)get_group_id(0), item = (int)get_local_id(0);
    const int items = (int)get_local_size(0);
    const int block = pair / 9, number = pair % 9, column = block % g.columns, row = block / g.columns;
    const int2 centre = is_first ? (int2)(0, 0) : displacement_of_key(winners[block]);
    const int2 wanted = candidate_around(centre, number, step);
    // Section III.C: all items of a group compare, or none. A group whose candidate does not count
    // compares the centre, whose samples are there, and its sum is left out.
    const bool tried = is_tried(g, window, column, row, wanted.x, wanted.y);
    const int2 displacement = tried ? wanted : centre;
    const int2 at = place(g, column, row, displacement.x, displacement.y);

    uint sum = 0;
    for (int i = item; i < BLOCK * BLOCK; i += items) {
        const int x = i % BLOCK, y = i / BLOCK;
        sum += compare_sample(*sample_at(current, g, column * BLOCK + x, row * BLOCK + y),
                              *sample_at(reference, g, at.x + x, at.y + y));
    }
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Half of the sums are added to the other half until one is left.
    for (int count = items; count > 1; count = (count + 1) / 2) {
        if (item < count / 2)
            sums[item] += sums[item + (count + 1) / 2];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        costs[pair] = tried ? sums[0] : UINT_MAX;
}

// Figure 3, c to e: an item a block takes the best of its nine candidates as the next centre.
__kernel void three_step_choose(__global const uint *costs, __global ulong *winners,
                                __global MotionVector *vectors, int step, int is_first, Geometry g)
{
    const int block = (int)get_global_id(0);
    if (block >= g.columns * g.rows)
        return;
    const int2 centre = is_first ? (int2)(0, 0) : displacement_of_key(winners[block]);
    ulong best = WORST_KEY;
    for (int number = 0; number < 9; ++number) {
        const uint cost = costs[9 * (size_t)block + (size_t)number];
        const int2 displacement = candidate_around(centre, number, step);
        const ulong key = order_key(cost, displacement.x, displacement.y);
        best = cost == UINT_MAX ? best : min(best, key);
    }
    winners[block] = best;
    vectors[block] = vector_of_key(best);
}

// Items that share a candidate: a number that leaves each some 16 words.
#if BLOCK <= 16
#define PARTS 4
#else
#define PARTS 16
#endif

// Items that share a block: eight candidates, the cost of the centre is known.
#define BLOCK_ITEMS (8 * PARTS)

// What the words first, first + stride, … of the block add to the cost of the one at `at`.
static inline uint compare_words(__global const uchar *current, __global const uchar *reference,
                                 Geometry g, int column, int row, int2 at, int first, int stride)
{
    // left is a multiple of 64 and so leaves the alignment to the sample's own place.
    const int skew = at.x & 3;
    uint cost = 0;
    for (int w = first; w < BLOCK * BLOCK_WORDS; w += stride) {
        const int i = w / BLOCK_WORDS, j = w % BLOCK_WORDS;
        __global const uint *c = (__global const uint *)sample_at(current, g, column * BLOCK, row * BLOCK + i);
        __global const uint *r = (__global const uint *)sample_at(reference, g, at.x - skew, at.y + i);
        cost = compare_four(c[j], join_words(r[j], r[j + 1], (uint)skew), cost);
    }
    return cost;
}

// All steps in one launch: BLOCK_ITEMS items a block, each a part of one candidate.
//
// Adjacent items take adjacent words of one candidate, so that their reads fall into few lines of
// the cache. Every item adds the parts of all candidates up by itself: reading the same words at
// once costs a group no more than one of its items, and all of them know the next centre without
// waiting again. Two sets of sums in turn make one barrier a step right.
//
//   group  (item of the block, one of several adjacent blocks); blocks past the last do the last
//          one's work again and write nothing
//   sums   two sets of a word an item
__kernel void three_step_group(__global const uchar *current, __global const uchar *reference,
                               __global MotionVector *vectors, __local uint4 *sums, int4 window,
                               int step, Geometry g)
{
    const int item = (int)get_local_id(0), lane = (int)get_local_id(1), lanes = (int)get_local_size(1);
    const int index = (int)get_group_id(0) * lanes + lane, last = g.columns * g.rows - 1;
    const int block = min(index, last), column = block % g.columns, row = block / g.columns;
    const int part = item % PARTS, number = item / PARTS + (item / PARTS > 3);
    // This block's words of the first set; those of the second are a set further.
    __local uint4 *set = sums + lane * (BLOCK_ITEMS / 4);
    const int next_set = lanes * (BLOCK_ITEMS / 4);

    ((__local uint *)set)[item] = compare_words(current, reference, g, column, row,
                                                (int2)(column * BLOCK, row * BLOCK), item, BLOCK_ITEMS);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint4 four = (uint4)(0);
    for (int i = 0; i < BLOCK_ITEMS / 4; ++i)
        four += set[i];
    ulong best = order_key((four.x + four.y) + (four.z + four.w), 0, 0);

    int turn = 1;
    for (int s = step; s > 0; s = next_step(s)) {
        const int2 centre = displacement_of_key(best);
        const int2 wanted = candidate_around(centre, number, s);
        const bool tried = is_tried(g, window, column, row, wanted.x, wanted.y);
        const int2 mine = tried ? wanted : centre;
        __local uint4 *parts = set + turn * next_set;
        ((__local uint *)parts)[item] = compare_words(current, reference, g, column, row,
                                                      place(g, column, row, mine.x, mine.y), part, PARTS);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; ++k) {
            four = parts[k * (PARTS / 4)];
            for (int i = 1; i < PARTS / 4; ++i)
                four += parts[k * (PARTS / 4) + i];
            const int2 displacement = candidate_around(centre, k + (k > 3), s);
            const ulong key =
                order_key((four.x + four.y) + (four.z + four.w), displacement.x, displacement.y);
            best = is_tried(g, window, column, row, displacement.x, displacement.y) ? min(best, key) : best;
        }
        turn ^= 1;
    }
    if (item == 0 && index <= last)
        vectors[block] = vector_of_key(best);
}

// Spans of 16 samples in a row of a block, of which 16 sums of 16 bits are kept side by side and
// added up once: a lane of the largest block takes 64 rows of 4 spans, 64 * 4 * 255 = 65280, which
// fits. The rest of a row, and all of it where four samples are one instruction or squares would
// not fit, is compared word by word.
#if !METRIC_SSD && FOUR_SAMPLES == 0
#define ROW_SPANS (BLOCK / 16)
#else
#define ROW_SPANS 0
#endif

// The cost of the block at `at`, read misaligned, which CPUs can do.
static inline uint compare_block(__global const uchar *current, __global const uchar *reference,
                                 Geometry g, int column, int row, int2 at)
{
    ushort16 sums = 0;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const uchar *c = sample_at(current, g, column * BLOCK, row * BLOCK + i);
        __global const uchar *r = sample_at(reference, g, at.x, at.y + i);
        for (int s = 0; s < ROW_SPANS; ++s) {
            const uchar16 cs = vload16(s, c), rs = vload16(s, r);
            sums += convert_ushort16(max(cs, rs) - min(cs, rs));
        }
        for (int j = 4 * ROW_SPANS; j < BLOCK_WORDS; ++j)
            cost = compare_four(as_uint(vload4(j, c)), as_uint(vload4(j, r)), cost);
    }
    const uint8 eight = convert_uint8(sums.lo) + convert_uint8(sums.hi);
    const uint4 four = eight.lo + eight.hi;
    return cost + (four.x + four.y) + (four.z + four.w);
}

// All steps in one launch, for CPU devices: an item a block, no local memory, no barrier.
__kernel FIXED_GROUP void three_step_item(__global const uchar *current, __global const uchar *reference,
                                          __global MotionVector *vectors, int4 window, int step, Geometry g)
{
    const int block = (int)get_global_id(0);
    if (block >= g.columns * g.rows)
        return;
    const int column = block % g.columns, row = block / g.columns;
    const int2 home = (int2)(column * BLOCK, row * BLOCK);
    ulong best = order_key(compare_block(current, reference, g, column, row, home), 0, 0);
    for (int s = step; s > 0; s = next_step(s)) {
        const int2 centre = displacement_of_key(best);
        for (int number = 0; number < 9; ++number) {
            const int2 d = candidate_around(centre, number, s);
            if (number != 4 && is_tried(g, window, column, row, d.x, d.y)) {
                const int2 at = place(g, column, row, d.x, d.y);
                best = min(best, order_key(compare_block(current, reference, g, column, row, at), d.x, d.y));
            }
        }
    }
    vectors[block] = vector_of_key(best);
}
