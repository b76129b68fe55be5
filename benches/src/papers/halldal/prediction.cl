// Prediction of motion vectors as Halldal measures it, and as H.264 defines it.
//
// M. F. Halldal, "Exploring computational capabilities of GPUs using H.264 prediction algorithms" (2012),
// sections 6.3 and 7.2, listings 6.5 and 6.6:
//
//     d[i] = v[i] - median(d[left of i], d[above i], d[above and left of i])
//
// for each component. The text of his section 5.2, like H.264, predicts from vectors and from the
// block above to the *right*. The listing, which is what he measured, predicts from differences and
// the block above to the *left*. The kernels `recurrence_*` do what the listing does;
// `predict_median` does what H.264 defines.
//
// Differences from his code:
// - The listing reads before its array at the edges. Here a missing neighbour is zero.
// - Differences are 16 bits wide and wrap around. He does not give his type.
// - His pattern is a knight's move, column + 2 row = k: a thread computes two blocks before the next
//   thread starts, so that a row follows the one above it by two columns. For 480 x 270 blocks he
//   has up to 239 threads at a time, in 238 growing, 62 full and, it seems, 238 shrinking iterations
//   of two blocks each; `recurrence_pairs` has ceil(columns / 2) + rows - 1 = 509. A neighbour above to
//   the right needs that. With left, above and above-left the plain diagonals column + row = k suffice:
//   each needs only the two before it, and there are columns + rows - 1 = 749 of them, of up to
//   min(columns, rows) = 270 blocks.
// - He looks up the block of a thread in an array made beforehand. Here it is computed from the
//   diagonal and the work-item, which takes a few integer operations instead of a read.
// - His barrier is inside the branch that only active threads enter. Here all work-items of a group
//   run the same loops and meet the same barriers; those without a block compute nothing.
// - He needs as many threads in a group as blocks in a diagonal. Here the work-items of a smaller
//   group take several blocks each.
// - His host waits for every launch before the next (listing 6.6). Here the queue is in order, and the
//   host waits once or after every launch.
//
//   vectors      the record of block b at b, row-major
//   differences  of block b at b, x and y in quarter samples
//   predictors   of block b at b, x and y in quarter samples
//
// Written for OpenCL C 1.2, without extensions.

// The record of the metadata: x and y in quarter samples.
typedef struct {
    short x, y;
    uint cost;
} MotionVector;

// The median of three, for each component.
static inline short2 median(short2 a, short2 b, short2 c)
{
    return max(min(a, b), min(max(a, b), c));
}


// Computes the difference of the block at `column` and `row` from the differences before it.
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

// Computes the blocks number item, item + items, ... of a diagonal. All work-items of a group run the
// loop equally often.
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

// Section 7.2.1: one work-item computes all blocks, one after another.
__kernel void recurrence_one_item(__global const MotionVector *vectors, __global short2 *differences,
                                  int columns, int rows)
{
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            compute_block(vectors, differences, columns, column, row);
}

// Listing 6.6 and sections 7.2.2 and 7.2.4: one launch per diagonal, of one or several groups.
__kernel void recurrence_diagonal(__global const MotionVector *vectors, __global short2 *differences,
                                  int columns, int rows, int diagonal)
{
    compute_diagonal(vectors, differences, columns, rows, diagonal, (int)get_global_id(0),
                     (int)get_global_size(0));
}

// Computes the pairs number item, item + items, ... of a step: two adjacent blocks of a row, two columns behind the row
// above.
static inline void compute_pairs(__global const MotionVector *vectors, __global short2 *differences,
                                 int columns, int rows, int step, int item, int items)
{
    const int pairs = (columns + 1) / 2, last_row = min(step, rows - 1);
    for (int row = max(0, step - (pairs - 1)) + item; row <= last_row; row += items) {
        const int column = 2 * (step - row);
        compute_block(vectors, differences, columns, column, row);
        if (column + 1 < columns)
            compute_block(vectors, differences, columns, column + 1, row);
    }
}

// Listing 6.6 as it is: one launch per step, of one or several groups, in which a work-item computes a pair.
__kernel void recurrence_pairs(__global const MotionVector *vectors, __global short2 *differences,
                               int columns, int rows, int step)
{
    compute_pairs(vectors, differences, columns, rows, step, (int)get_global_id(0), (int)get_global_size(0));
}

// Listing 6.5 and section 7.2.3: one launch of one group, which computes all pairs step by step. A pair's second block
// needs the first one, of the same item, and blocks of earlier steps, so that the listing's barrier between them is not
// needed.
__kernel void recurrence_wavefront_pairs(__global const MotionVector *vectors, __global short2 *differences,
                                         int columns, int rows)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int step = 0; step < (columns + 1) / 2 + rows - 1; step++) {
        compute_pairs(vectors, differences, columns, rows, step, item, items);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

// The same by plain diagonals.
__kernel void recurrence_wavefront(__global const MotionVector *vectors, __global short2 *differences,
                                   int columns, int rows)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
        compute_diagonal(vectors, differences, columns, rows, diagonal, item, items);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

static inline short2 displacement(__global const MotionVector *vectors, int index)
{
    return (short2)(vectors[index].x, vectors[index].y);
}

// H.264's median prediction (ITU-T H.264, 8.4.1.3) for blocks of one partition and one reference
// frame; `estimator::prediction` lists the cases. One work-item per block: all vectors are known
// after the search, so no block depends on another.
__kernel void predict_median(__global const MotionVector *vectors, __global short2 *predictors,
                             int columns, int rows)
{
    const int index = (int)get_global_id(0);
    if (index >= columns * rows)
        return;
    const int column = index % columns, row = index / columns;
    const bool has_left = column > 0, has_above = row > 0, has_right = column + 1 < columns;
    short2 a = 0, b = 0, c = 0;
    if (has_left)
        a = displacement(vectors, index - 1);
    if (has_above) {
        b = displacement(vectors, index - columns);
        // Above and to the right or, where that is missing, to the left.
        if (has_right)
            c = displacement(vectors, index - columns + 1);
        else if (has_left)
            c = displacement(vectors, index - columns - 1);
        else
            a = c = b;  // The one column of its grid: the block above alone.
    } else {
        b = c = a;  // The first row: the left neighbour for all.
    }
    predictors[index] = median(a, b, c);
}
