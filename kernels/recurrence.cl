// Halldal's dependent recurrence, on one work-item and in two kinds of wavefront.
//
// T. Halldal, "H.264 prediction on GPUs" (2012), sections 6.3 and 7.2, listings 6.5 and 6.6:
//
//     d[i] = v[i] - median(d[left of i], d[above i], d[above and left of i])
//
// for each component. The text of his section 5.2, as H.264, predicts from vectors and from the
// block above to the *right*; the listing, which is what he measured, from differences and the
// block above to the *left*. This file does what the listing does.
//
// Departures:
// - The listing reads before its array at the edges: a missing neighbour is zero here.
// - Differences are 16 bits wide and wrap around; his type is not given.
// - His pattern is a knight's move, column + 2 row = k: a thread does two blocks before the next
//   thread starts, so that a row follows the one above it by two columns. For 480 x 270 blocks he
//   has up to 239 at a time, in 238 growing, 62 full and, it seems, 238 shrinking iterations of two
//   steps each. That is what a neighbour above to the right needs. With left, above and above-left
//   the plain diagonals column + row = k suffice, as here: each needs only the two before it, and
//   there are columns + rows - 1 = 749 of them, of up to min(columns, rows) = 270 blocks.
// - He looks up each thread's block in an array made beforehand; here it is computed from diagonal
//   and item, in a few integer operations in the place of a read.
// - His barrier stands inside the branch that only active threads enter; here all items of a group
//   run the same loops and meet the same barriers, and those without a block do nothing.
// - He needs as many threads in a group as blocks in a diagonal; here the items of a smaller group
//   take several blocks each.
// - His host waits for every launch to end before the next (listing 6.6); here the queue is in order
//   and the host waits once.
//
//   vectors      the record of block b at b, row-major
//   differences  of block b at b, x and y in quarter samples
//
// Written for OpenCL C 1.2, without extensions.

#include "vectors.cl"

// Computes the difference of the block at `column` and `row`, when those before it are there.
static inline void compute_block(__global const MotionVector *vectors, __global short2 *differences,
                                 int columns, int column, int row)
{
    const int index = row * columns + column;
    const short2 left = column > 0 ? differences[index - 1] : (short2)0;
    const short2 above = row > 0 ? differences[index - columns] : (short2)0;
    const short2 above_left = column > 0 && row > 0 ? differences[index - columns - 1] : (short2)0;
    const int2 vector = (int2)(vectors[index].x, vectors[index].y);
    // The conversion keeps the low 16 bits.
    differences[index] = convert_short2(vector - convert_int2(median(left, above, above_left)));
}

// Computes the share of the item `item` of `items` in a diagonal: its blocks number item,
// item + items, ... All items go round the loop equally often.
static inline void compute_diagonal(__global const MotionVector *vectors, __global short2 *differences,
                                    int columns, int rows, int diagonal, int item, int items)
{
    const int first_row = max(0, diagonal - (columns - 1));
    const int blocks = min(diagonal, rows - 1) - first_row + 1;
    for (int first = 0; first < blocks; first += items) {
        const int row = first_row + first + item;
        if (first + item < blocks)
            compute_block(vectors, differences, columns, diagonal - row, row);
    }
}

// Section 7.2.1: one work-item does all, block after block.
__kernel void recurrence_one_item(__global const MotionVector *vectors, __global short2 *differences,
                                  int columns, int rows)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            compute_block(vectors, differences, columns, column, row);
}

// Listing 6.6 and sections 7.2.2 and 7.2.4: a launch a diagonal, of one group or of several.
__kernel void recurrence_diagonal(__global const MotionVector *vectors, __global short2 *differences,
                                  int columns, int rows, int diagonal)
{
    compute_diagonal(vectors, differences, columns, rows, diagonal, (int)get_global_id(0),
                     (int)get_global_size(0));
}

// Listing 6.5 and section 7.2.3: one launch of one group, which goes from diagonal to diagonal.
__kernel void recurrence_wavefront(__global const MotionVector *vectors, __global short2 *differences,
                                   int columns, int rows)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
        compute_diagonal(vectors, differences, columns, rows, diagonal, item, items);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
