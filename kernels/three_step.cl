// Three-step search, our own kernels: all steps in one launch. steps.cl has the search.

#include "common.cl"
#include "spans.cl"
#include "steps.cl"

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
