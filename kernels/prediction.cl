// Prediction of motion vectors by the median of H.264, one work-item a block.
//
// ITU-T H.264, 8.4.1.3, for blocks of one partition and one reference frame; the host's
// `estimator::prediction` defines the rule. T. Halldal, "H.264 prediction on GPUs" (2012), sections 5.2
// and 6.3, predicts diagonal by diagonal, because an encoder chooses vectors by their predictors. Here
// the search has found all vectors before, so all blocks are predicted at once.
//
//   vectors     record of block b at b, row-major
//   predictors  predictor of block b at b, x and y in quarter samples
//
// Written for OpenCL C 1.2, without extensions.

#include "vectors.cl"

static inline short2 displacement(__global const MotionVector *vectors, int index)
{
    return (short2)(vectors[index].x, vectors[index].y);
}

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
        // Above and to the right or, if there is no such block, above and to the left.
        if (has_right)
            c = displacement(vectors, index - columns + 1);
        else if (has_left)
            c = displacement(vectors, index - columns - 1);
        else
            a = c = b;  // A grid of one column: the block above alone.
    } else {
        b = c = a;  // The first row: the left neighbour alone.
    }
    predictors[index] = median(a, b, c);
}
