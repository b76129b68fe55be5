// Two kernels in a row: the first writes all costs to global memory, the second compares each block's.
//
// J. Zhang, J.-F. Nezan, J.-G. Cousin, "Implementation of Motion Estimation Based on Heterogeneous
// Parallel Computing System with OpenCL" (2012), section III: `two_pass_compute` is the paper's
// kernel_compute (III-A, figure 5), `two_pass_compare` its kernel_compare (III-B, figure 6).
//
//   costs    cost of candidate k of block b at (b - first_block) * window_columns * window_rows + k,
//            with candidates numbered row by row: adjacent items write, and read, adjacent words
//   vectors  record of block b = row * columns + column at b
//
// The paper has groups of 256 items with four candidates each, 1024 in all: exactly its window of
// 32 x 32. Here the window is cut into tiles of tile_columns x tile_rows candidates, at most four an
// item and as many as local memory allows, and what remains is masked. CPU devices have groups of 64
// items unless another size is chosen. The paper keeps the costs of the whole frame; here a launch
// takes the blocks from first_block on, so the buffer may be smaller.
//
// Slips and departures. Formula (1) squares the differences and calls the sum SAD. The text and
// figures 1 and 2 say absolute differences, which is METRIC_SAD here; formula (1) is METRIC_SSD. The
// paper pads the frame by a whole window on the host; here the margin that common.cl describes serves.
// The search region is 47 x 47 samples, not 48 x 48. Formula (2) has four groups a block, the text one,
// as here. The paper keeps the smallest cost and leaves ties
// open; here order keys are compared.

#include "../common.cl"
#include "../spans.cl"

// III-A: block and search area in local memory, `SPAN` samples compared at a time (II-C, figure 2).
// Candidates that do not count are computed from the margin of the frame and left out by the second
// kernel. Every item runs every loop equally often: in a kernel with barriers PoCL 3.1 runs other loops
// for the wrong items.
//
//   group        (tile, block): tiles are numbered row by row, ceil(window_columns / tile_columns) a
//                row; blocks from first_block on
//   block_words  word j of the block's row i at i * BLOCK_WORDS + j
//   area         word j of the area's row i at i * area_words + j; the area's first sample is
//                `skew` samples into its first word
//   area_words   at least (tile_columns + BLOCK - 2) / WORD_SAMPLES + 2
__kernel FIXED_GROUP void two_pass_compute(__global const uchar *current, __global const uchar *reference,
                                           __global uint *costs, __local uint *block_words,
                                           __local uint *area, int area_words, int tile_columns,
                                           int tile_rows, int first_block, Geometry g)
{
    const int tile = (int)get_group_id(0), slot = (int)get_group_id(1);
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int column = (first_block + slot) % g.columns, row = (first_block + slot) / g.columns;
    const int tiles_across = (g.window_columns + tile_columns - 1) / tile_columns;
    const int tile_x = tile % tiles_across * tile_columns, tile_y = tile / tiles_across * tile_rows;
    const int candidate_columns = min(tile_columns, g.window_columns - tile_x);
    const int candidate_rows = min(tile_rows, g.window_rows - tile_y);
    // `left` is a multiple of 4, so the sample's x alone decides its alignment.
    const int area_x = column * BLOCK + g.x0 + tile_x, skew = area_x & (WORD_SAMPLES - 1);

    stage_words(block_words, BLOCK_WORDS, sample_at(current, g, column * BLOCK, row * BLOCK), g.pitch,
                BLOCK_WORDS, BLOCK);
    stage_words(area, area_words, sample_at(reference, g, area_x - skew, row * BLOCK + g.y0 + tile_y),
                g.pitch, (candidate_columns + BLOCK - 2) / WORD_SAMPLES + 2, candidate_rows + BLOCK - 1);
    barrier(CLK_LOCAL_MEM_FENCE);

    __global uint *block_costs = costs + (size_t)slot * (size_t)(g.window_columns * g.window_rows);
    const int candidates = candidate_columns * candidate_rows;
    for (int first = 0; first < candidates; first += items) {
        const int k = min(first + item, candidates - 1);
        const int tx = k % candidate_columns, ty = k / candidate_columns;
        __local const sample_t *c = (__local const sample_t *)block_words;
        __local const sample_t *r = (__local const sample_t *)(area + ty * area_words) + tx + skew;
        Sums sums = 0;
        for (int i = 0; i < BLOCK; ++i, c += BLOCK, r += WORD_SAMPLES * area_words)
            for (int s = 0; s < BLOCK; s += SPAN)
                sums = add_span(LOAD_SAMPLES(c + s), LOAD_SAMPLES(r + s), sums);
        if (first + item < candidates)
            block_costs[(tile_y + ty) * g.window_columns + tile_x + tx] = total(sums);
    }
}

// III-B: each item finds the best of every group-size-th cost, four in the paper, and a tree folds
// the keys of the items. Each cost is read once, so it goes to a register and not through local
// memory as in the paper's first step.
//
//   group  block, from first_block on
//   keys   key of item i at i
__kernel FIXED_GROUP void two_pass_compare(__global const uint *costs, __global MotionVector *vectors,
                                           __local ulong *keys, int first_block, Geometry g)
{
    const int slot = (int)get_group_id(0), block = first_block + slot;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int candidates = g.window_columns * g.window_rows;
    const int column = block % g.columns, row = block / g.columns;
    __global const uint *block_costs = costs + (size_t)slot * (size_t)candidates;
    ulong best = WORST_KEY;
    for (int first = 0; first < candidates; first += items) {
        const int k = min(first + item, candidates - 1);
        const int2 d = displacement_at(g, k);
        const ulong key = order_key(block_costs[k], d.x, d.y);
        best = counts(g, column, row, d.x, d.y) ? min(best, key) : best;
    }
    keys[item] = best;
    smallest_key(keys, (uint)items);
    if (item == 0)
        vectors[block] = vector_of_key(keys[0]);
}
