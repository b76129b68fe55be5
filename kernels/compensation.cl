// Overlapped motion compensation, quality=fast: the planes of made frames, from the vectors that interpolation.cl chooses.
//
// The oracle, interpolation/oracle.rs, defines it. The cells of prediction.cl are those between the centres of blocks here: each is predicted by
// the vectors of the four blocks around it, whose windows overlap there.

// Names in capitals that no kernel file defines are constants of motion-frames' `interpolation/rules.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "prediction.cl"

// The windows of four blocks add up to 2^(WINDOW_BITS), and the weights of two frames to 64.
#define WINDOW_BITS (8 - HALVED_X - HALVED_Y)
#define SUM_BITS (6 + WINDOW_BITS)

// Makes a plane or, of several planes of the same shape, plane number get_global_id(2). `previous` and `next` are the points
// of luma, or the planes of the frames.
__kernel void compensate(__global const source_t *previous, __global const source_t *next,
                         __global const PhaseVector *chosen, __global uchar *made, FrameShape f, PlanesShape plane, int both)
{
    const int cell = (int)get_global_id(0), y = (int)get_global_id(1), number = (int)get_global_id(2);
    const int x = CELL_WIDTH * cell - HALF_WIDTH;
    if (x >= plane.width || y >= plane.rows)
        return;
    const int row = (y + CELL_HEIGHT / 2) / CELL_HEIGHT, down = (y + CELL_HEIGHT / 2) % CELL_HEIGHT;
    const int left = max(cell - 1, 0), right = min(cell, f.columns - 1);
    __global const PhaseVector *above = chosen + max(row - 1, 0) * f.columns;
    __global const PhaseVector *below = chosen + min(row, f.rows - 1) * f.columns;
    const PhaseVector around[4] = {above[left], above[right], below[left], below[right]};
    const int2 pixel = (int2)(x / PIXEL, y);
    uint predicted[CELL_WIDTH], starts[CELL_WIDTH], ends[CELL_WIDTH];
    uint sums[CELL_WIDTH], least[CELL_WIDTH], largest[CELL_WIDTH];
    read_range(previous, next, f, plane, number, pixel, least, largest);
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] = 1u << (SUM_BITS - 1);
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) {
        // Neighbours often have the same vector.
        if (corner == 0 || any(around[corner] != around[corner - 1]))
            predict_row(previous, next, f, plane, number, pixel, around[corner], (uint)both, least, largest, predicted, starts,
                        ends);
        const uint height = (uint)(corner < 2 ? 2 * (CELL_HEIGHT - down) - 1 : 2 * down + 1);
#pragma unroll
        for (int i = 0; i < CELL_WIDTH; ++i) {
            const int across = i / PIXEL;
            const uint width = (uint)(corner % 2 == 0 ? 2 * (CELL_PIXELS - across) - 1 : 2 * across + 1);
            sums[i] += height * width * predicted[i];
        }
    }
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] >>= SUM_BITS;
    write_row(made, plane, number, x, y, OF_ROW(as_int)(OF_ROW(vload)(0, sums)));
}
