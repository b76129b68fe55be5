// Three-step search: starting at the centre (0, 0), the best of the nine candidates on and around the
// centre, a step apart, becomes the next centre, and the step is halved.
//
// D. Bonanno, "Parallelisation of the Block Matching Algorithm Using Three Step Search":
// `three_step_samples` is section II, figure 3, and `three_step_choose` its points c to e.
// `three_step_group` and `three_step_item` are ours: all steps in one launch.
//
// Departures. The paper does three steps; here the first is half the range, whatever the range, and
// each next one is half of the one before, rounded up: range 7 has the paper's 4, 2 and 1. Its MSE is a
// float; here the sum is not divided by the samples of a block, so it is an exact integer. It does not
// say which of equal costs wins; here order keys decide, not the numbers of the nine candidates (its
// figure 4), which are counted row by row, with the centre as number 4. One of its items adds up the
// samples of a pair; here a tree does, as its section VI suggests. Its section II limits blocks to the
// 1024 items of a group; here an item takes several samples of a larger block.
//
//   window   first and last displacement across, first and last down: (x0, x1, y0, y1). The
//            geometry's window is smaller: what the margin of the frames allows, a block on each side.
//   step     the first step; 0 for a window of the centre alone
//   vectors  record of block (column, row) at row * columns + column

#include "common.cl"
#include "spans.cl"

// Whether the displacement (x, y) counts for the block at `column`, `row`.
static inline bool is_tried(Geometry g, int4 window, int column, int row, int x, int y)
{
    return window.x <= x && x <= window.y && window.z <= y && y <= window.w &&
           counts(g, column, row, x, y);
}

// Where the block at `column`, `row`, displaced by (x, y), is read. More than a block outside the frame
// all samples repeat, so nothing is read further out.
static inline int2 place(Geometry g, int column, int row, int x, int y)
{
    return (int2)(clamp(column * BLOCK + x, -BLOCK, g.extended_width),
                  clamp(row * BLOCK + y, -BLOCK - g.above, g.extended_height));
}

// The displacement of the candidate with this key.
static inline int2 displacement_of_key(ulong key)
{
    const MotionVector vector = vector_of_key(key);
    return (int2)(vector.x / 4, vector.y / 4);
}

// Candidate `number`, 0 to 8, around `centre`.
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
// A step needs the result of all nine groups of the step before, and groups of one launch cannot wait
// for each other. So each step is a launch, as in the paper, followed by one of three_step_choose. As in
// the paper, each step compares the centre again.
//
//   group    pair 9 * block + number
//   winners  key of block b at b, from the step before; not read in the first step
//   costs    cost of pair p at p; UINT_MAX if the candidate does not count
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
    // Section III.C: all items of a group compare, or none. If its candidate does not count, a group
    // compares the centre and discards the sum.
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

// Figure 3, c to e: one item a block makes the best of its nine candidates the next centre.
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

// Items that share a candidate: each takes about 16 words.
#if BLOCK <= 16
#define PARTS 4
#else
#define PARTS 16
#endif

// Items that share a block: eight candidates, as the cost of the centre is known.
#define BLOCK_ITEMS (8 * PARTS)

// What the words first, first + stride, ... of the block add to the cost of the candidate read at `at`.
static inline uint compare_words(__global const uchar *current, __global const uchar *reference,
                                 Geometry g, int column, int row, int2 at, int first, int stride)
{
    // `left` is a multiple of 4, so the sample's x alone decides its alignment.
    const int skew = at.x & (WORD_SAMPLES - 1);
    uint cost = 0;
    for (int w = first; w < BLOCK * BLOCK_WORDS; w += stride) {
        const int i = w / BLOCK_WORDS, j = w % BLOCK_WORDS;
        __global const uint *c = (__global const uint *)sample_at(current, g, column * BLOCK, row * BLOCK + i);
        __global const uint *r = (__global const uint *)sample_at(reference, g, at.x - skew, at.y + i);
        cost = compare_word(c[j], join_words(r[j], r[j + 1], (uint)skew), cost);
    }
    return cost;
}

// All steps in one launch: BLOCK_ITEMS items a block, each a part of one candidate.
//
// Adjacent items take adjacent words of one candidate, so that their reads need few cache lines. Every
// item adds up the parts of all candidates: if all items of a group read the same words at once, that
// costs no more than one read, and each item knows the next centre without another barrier. With two
// sets of sums, used in turn, one barrier a step is enough.
//
//   group  items (i, j): item i of the group's block j; the blocks of a group are adjacent, and those
//          past the last block repeat its work and write nothing
//   sums   two sets of a word an item
__kernel void three_step_group(__global const uchar *current, __global const uchar *reference,
                               __global MotionVector *vectors, __local uint4 *sums, int4 window,
                               int step, Geometry g)
{
    const int item = (int)get_local_id(0), lane = (int)get_local_id(1), lanes = (int)get_local_size(1);
    const int index = (int)get_group_id(0) * lanes + lane, last = g.columns * g.rows - 1;
    const int block = min(index, last), column = block % g.columns, row = block / g.columns;
    const int part = item % PARTS, number = item / PARTS + (item / PARTS > 3);
    // This block's words of the first set; those of the second are `next_set` words further.
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

// Spans of 16 samples in a row of a block that are added up in lanes. The rest of the row is compared
// word by word.
#define ROW_SPANS (HAS_LANES ? BLOCK / 16 : 0)

// The cost of the candidate read at `at`, misaligned, which CPUs can do.
static inline uint compare_block(__global const uchar *current, __global const uchar *reference,
                                 Geometry g, int column, int row, int2 at)
{
    ushort16 lanes = 0;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const sample_t *c = sample_at(current, g, column * BLOCK, row * BLOCK + i);
        __global const sample_t *r = sample_at(reference, g, at.x, at.y + i);
#if SAMPLE_BITS == 8
        for (int s = 0; s < ROW_SPANS; ++s)
            lanes = add_lanes(vload16(s, c), vload16(s, r), lanes);
        for (int j = 4 * ROW_SPANS; j < BLOCK_WORDS; ++j)
            cost = compare_four(as_uint(vload4(j, c)), as_uint(vload4(j, r)), cost);
#else
        for (int j = 0; j < BLOCK; ++j)
            cost += compare_sample(c[j], r[j]);
#endif
    }
    return cost + sum_lanes(lanes);
}

// All steps in one launch, for CPU devices: one item a block, no local memory, no barrier.
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
