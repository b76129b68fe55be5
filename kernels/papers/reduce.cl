// The last step of the Collaborative Method: the best of the costs that the jobs wrote.
//
// A. Uta, "Collaborative Multi-Device Motion Estimation on Multi/Many-Core Platforms" (2012),
// section 6.2: "for each macroblock, the motion vector with the least SAD value is picked up as the
// final result". The thesis does not say how. Here a group takes get_local_size(0) adjacent blocks,
// its second dimension divides the jobs of each, and a tree folds those. If the cost buffer does not
// hold all jobs, the best keys so far are kept from one batch to the next.
//
//   costs    cost of block b in job j at (j - first_job) * blocks + b
//   winners  order key of block b at b
//   vectors  record of block b at b
//   keys     key of item (i, j) at j * get_local_size(0) + i; both sizes are powers of two
//   are_first    whether these jobs are the first of the search, so that `winners` has none yet
//
// block_size is an argument, so that one build serves all of them.

#include "../common.cl"

__kernel void reduce(__global const uint *costs, __global ulong *winners,
                     __global MotionVector *vectors, __local ulong *keys, int first_job, int jobs,
                     int are_first, int block_size, Geometry g)
{
    const uint across = (uint)get_local_size(0), shares = (uint)get_local_size(1);
    const uint item = (uint)get_local_id(0), share = (uint)get_local_id(1);
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    // Items past the last block repeat its work and write nothing.
    const uint block = min(index, blocks - 1);
    const int left = (int)(block % (uint)g.columns) * block_size;
    const int top = (int)(block / (uint)g.columns) * block_size;
    ulong best = WORST_KEY;
    for (uint j = share; j < (uint)jobs; j += shares) {
        const int2 d = displacement_at(g, first_job + (int)j);
        const bool inside = left + d.x >= 0 && top + d.y >= -g.above &&
                            left + d.x + block_size <= g.extended_width &&
                            top + d.y + block_size <= g.extended_height;
        const ulong key = order_key(costs[(size_t)j * blocks + block], d.x, d.y);
        best = inside || !g.inside_only ? min(best, key) : best;
    }
    keys[share * across + item] = best;
    for (uint half_shares = shares / 2; half_shares > 0; half_shares /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (share < half_shares)
            keys[share * across + item] =
                min(keys[share * across + item], keys[(share + half_shares) * across + item]);
    }
    if (share == 0 && index < blocks) {
        best = keys[item];
        if (!are_first)
            best = min(best, winners[block]);
        winners[block] = best;
        vectors[block] = vector_of_key(best);
    }
}
