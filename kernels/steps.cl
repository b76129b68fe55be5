// Three-step search: starting at the centre (0, 0), the best of the nine candidates on and around the
// centre, a step apart, becomes the next centre, and the step is halved. What its kernels share.
// Included after common.cl.
//
// D. Bonanno, "Parallelisation of the Block Matching Algorithm Using Three Step Search". The paper does
// three steps and states neither their sizes nor a range; here the first is half the range, and each next one
// half of the one before, rounded up: 4, 2 and 1 for range 7. It does not say which of equal costs wins; here
// order keys decide, not the numbers of the nine candidates (its figure 4), which are counted row by row,
// with the centre as number 4.
//
// Arguments of the kernels:
//
//   window   first and last displacement across, first and last down: (x0, x1, y0, y1). The
//            geometry's window is smaller: what the margin of the frames allows, a block on each side.
//   step     the first step; 0 for a window of the centre alone
//   vectors  record of block (column, row) at row * columns + column

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
