// Three-step search, a launch a step.
//
// D. Bonanno, "Parallelisation of the Block Matching Algorithm Using Three Step Search":
// `three_step_samples` is section II, figure 3, points a to c, and `three_step_choose` points d and e.
//
// Departures, besides those in steps.cl. The paper's MSE is a float; here the sum is not divided by the
// samples of a block, so it is an exact integer. One of its items adds up the samples of a pair; here a
// tree does, as its section VI suggests. Its section II limits blocks to the 1024 items of a group; here an
// item takes several samples of a larger block.

#include "../common.cl"
#include "../steps.cl"

// Figure 3, a to c: a group a pair of block and candidate, an item a sample, a launch a step.
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

// Figure 3, d and e: one item a block makes the best of its nine candidates the next centre.
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
