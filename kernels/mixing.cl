// Made frames with quality=balanced: planes whose samples are the weighted mean of what all vectors around a block predict.
//
// docs/algorithms.md defines it, hypotheses.cl the layout of what weighting.cl has written. The cells of prediction.cl are
// blocks here.

#include "common.cl"
#include "points.cl"
#include "prediction.cl"
#include "hypotheses.cl"

// 7 times the windows of coarse vectors and their parts is divided by 1 << COARSE_BITS, and a spatial weight times that of a
// match by 1 << WEIGHT_BITS. The sum of what is weighted then needs 24 bits with samples of eight bits, and 32 with 16.
#define COARSE_BITS 7
#define WEIGHT_BITS 6

// Luma samples of a sample on an axis, of which a block has `length`.
#define FINER(length) (SIDE / (length))

// The window of a block `step` blocks away on an axis, at sample `at` of a block of `length` samples.
static inline uint fine_window(int length, int at, int step)
{
    const int away = abs(FINER(length) * (2 * at + 1) - SIDE - 2 * SIDE * step);
    return (uint)max(3 * SIDE - away, 0);
}

// The window of coarse block `coarse` on an axis, at sample `at` of block `block`, of `length` samples. Distances are twice those
// in luma samples.
static inline uint coarse_window(FrameShape f, int coarse, int block, int length, int at)
{
    const int sample = 2 * SIDE * block + FINER(length) * (2 * at + 1), side = 2 * SIDE << f.halvings;
    const int away = abs(sample - side * (2 * coarse + 1));
    return (uint)(2 * side - away) >> f.halvings;
}

// Makes a plane or, of several planes of the same shape, plane number get_global_id(2). `previous` and `next` are the points
// of luma, or the planes of the frames.
__kernel void mix_planes(__global const source_t *previous, __global const source_t *next, __global const PhaseVector *chosen,
                         __global const PhaseVector *coarse, __global const uint *badness, __global const uchar *weights,
                         __global uchar *made, FrameShape f, PlanesShape plane, int both)
{
    const int column = (int)get_global_id(0), y = (int)get_global_id(1), number = (int)get_global_id(2);
    if (column >= f.columns || y >= plane.rows)
        return;
    const int2 block = (int2)(column, y / CELL_HEIGHT), pixel = (int2)(CELL_PIXELS * column, y);
    const int down = y % CELL_HEIGHT;
    Hypotheses h;
    find_hypotheses(chosen, coarse, badness, f, block, &h);
    uint predicted[CELL_WIDTH], sums[CELL_WIDTH], totals[CELL_WIDTH], least[CELL_WIDTH], largest[CELL_WIDTH];
    read_range(previous, next, f, plane, number, pixel, least, largest);
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] = totals[i] = 0;
    // Those of the cells of this row.
    weights += (block.y * f.columns + block.x) * HYPOTHESES * 4 + 2 * (down / (CELL_HEIGHT / 2));
    for (int k = 0; k < h.count; ++k) {
        predict_row(previous, next, f, plane, number, pixel, h.vectors[k], (uint)both, least, largest, predicted);
        uint spatial[CELL_PIXELS];
#pragma unroll
        for (int i = 0; i < CELL_PIXELS; ++i)
            spatial[i] = 0;
        for (int place = 0; place < HYPOTHESES; ++place) {
            if (!(h.places[k] >> place & 1))
                continue;
            const int corner = place - FINE;
            const int2 at = h.first + (int2)(corner & 1, corner >> 1);
            const uint height = corner < 0 ? fine_window(CELL_HEIGHT, down, place / 3 - 1)
                                           : 7 * h.share * coarse_window(f, at.y, block.y, CELL_HEIGHT, down);
#pragma unroll
            for (int i = 0; i < CELL_PIXELS; ++i)
                spatial[i] += corner < 0 ? height * fine_window(CELL_PIXELS, i, place % 3 - 1)
                                         : height * coarse_window(f, at.x, block.x, CELL_PIXELS, i) >> COARSE_BITS;
        }
        // One vector needs no weights, which have not been written.
        const uint2 of_match = h.count == 1 ? (uint2)(255) : (uint2)(weights[4 * k], weights[4 * k + 1]);
#pragma unroll
        for (int i = 0; i < CELL_WIDTH; ++i) {
            const uint weight = spatial[i / PIXEL] * (i < CELL_WIDTH / 2 ? of_match.x : of_match.y) >> WEIGHT_BITS;
            sums[i] += weight * (predicted[i] + 8 >> 4);
            totals[i] += weight;
        }
    }
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] = (sums[i] + 2 * totals[i]) / (4 * totals[i]);
    write_row(made, plane, number, CELL_WIDTH * column, y, sums);
}
