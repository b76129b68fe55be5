// The Reference Method: a work-group a block, its work-items the candidates.
//
// D. Uta, "Collaborative Motion Estimation" (2012): `reference_naive` is section 6.1, figure 3;
// `reference` is section 6.1.1, figure 4.
//
//   group    block (column, row) = (group % columns, group / columns)
//   vectors  the record of block (column, row) at index row * columns + column
//
// Departures. The thesis keeps the smallest cost; here the reduction is over order keys, so that
// ties fall the same way on every device. The thesis' item 0 is the window's top left, as here,
// but its group is a square; here it is one-dimensional, the candidate's number
// y * window_columns + x.
//
// Candidates that do not count are computed too, in the room around the picture, and their key is
// left out: items that branch round a loop diverge on a GPU, and in a kernel with barriers PoCL 3.1
// runs such a loop for the wrong items.

#include "common.cl"

// Figure 3: every sample read from global memory, one item a candidate. The group holds exactly
// window_columns * window_rows items, which is the limitation of the method: keys has as many.
__kernel void reference_naive(__global const uchar *current, __global const uchar *reference,
                              __global MotionVector *vectors, __local ulong *keys, Geometry g)
{
    const int block = (int)get_group_id(0), item = (int)get_local_id(0);
    const int column = block % g.columns, row = block / g.columns;
    const int x = g.x0 + item % g.window_columns, y = g.y0 + item / g.window_columns;

    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const uchar *c = sample_at(current, g, column * BLOCK, row * BLOCK + i);
        __global const uchar *r = sample_at(reference, g, column * BLOCK + x, row * BLOCK + i + y);
        for (int j = 0; j < BLOCK; ++j)
            cost += compare_sample(c[j], r[j]);
    }
    keys[item] = counts(g, column, row, x, y) ? order_key(cost, x, y) : WORST_KEY;
    smallest_key(keys, (uint)get_local_size(0));
    if (item == 0)
        vectors[block] = vector_of_key(keys[0]);
}

// Figure 4: block and search area staged in local memory, adjacent items reading adjacent words.
//
// The thesis leaves two limits: as many items as candidates, and local memory for the whole area.
// Both fall here, by what its sections 5 and 9 propose. The window is cut into tiles of
// tile_columns * tile_rows candidates, whose area fits `area`, and each item takes every
// group-size-th candidate of a tile. Figure 4 reads single samples from local memory; here four
// are compared at a time, a misaligned four joined from two words.
//
//   block_words  word j of the block's row i at i * BLOCK_WORDS + j
//   area         word j of the area's row i at i * area_words + j; the area's first sample is
//                `skew` samples into its first word
//   area_words   at least (tile_columns + BLOCK + 2) / 4 + 1: skew and joining take up to a word more
__kernel void reference_staged(__global const uchar *current, __global const uchar *reference,
                               __global MotionVector *vectors, __local ulong *keys,
                               __local uint *block_words, __local uint *area, int area_words,
                               int tile_columns, int tile_rows, Geometry g)
{
    const int block = (int)get_group_id(0), item = (int)get_local_id(0);
    const int items = (int)get_local_size(0);
    const int column = block % g.columns, row = block / g.columns;

    for (int w = item; w < BLOCK * BLOCK_WORDS; w += items) {
        const int i = w / BLOCK_WORDS, j = w % BLOCK_WORDS;
        __global const uchar *line = sample_at(current, g, column * BLOCK, row * BLOCK + i);
        block_words[w] = ((__global const uint *)line)[j];
    }

    ulong best = WORST_KEY;
    for (int tile_y = 0; tile_y < g.window_rows; tile_y += tile_rows) {
        const int candidate_rows = min(tile_rows, g.window_rows - tile_y);
        for (int tile_x = 0; tile_x < g.window_columns; tile_x += tile_columns) {
            const int candidate_columns = min(tile_columns, g.window_columns - tile_x);
            const int first_x = g.x0 + tile_x, first_y = g.y0 + tile_y;
            // left is a multiple of 64 and so leaves the alignment to the sample's own place.
            const int area_x = column * BLOCK + first_x, skew = area_x & 3;

            const int rows = candidate_rows + BLOCK - 1, words = (candidate_columns + BLOCK + 2) / 4 + 1;
            for (int w = item; w < rows * words; w += items) {
                const int i = w / words, j = w % words;
                __global const uchar *line =
                    sample_at(reference, g, area_x - skew, row * BLOCK + first_y + i);
                area[i * area_words + j] = ((__global const uint *)line)[j];
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            for (int k = item; k < candidate_rows * candidate_columns; k += items) {
                const int tx = k % candidate_columns, ty = k / candidate_columns;
                const int x = first_x + tx, y = first_y + ty;
                const uint shift = (uint)(tx + skew) & 3;
                __local const uint *r = area + ty * area_words + (tx + skew) / 4;
                __local const uint *c = block_words;
                uint cost = 0;
                for (int i = 0; i < BLOCK; ++i, r += area_words, c += BLOCK_WORDS) {
                    uint low = r[0];
                    for (int j = 0; j < BLOCK_WORDS; ++j) {
                        const uint high = r[j + 1];
                        cost = compare_four(c[j], join_words(low, high, shift), cost);
                        low = high;
                    }
                }
                best = counts(g, column, row, x, y) ? min(best, order_key(cost, x, y)) : best;
            }
            // The next tile overwrites the area.
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    keys[item] = best;
    smallest_key(keys, (uint)items);
    if (item == 0)
        vectors[block] = vector_of_key(keys[0]);
}
