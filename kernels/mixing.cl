// Made frames with quality=balanced and quality=high: planes whose samples are the weighted mean of what all vectors around a block predict.
//
// The oracle, interpolation/oracle.rs, defines it, hypotheses.cl the layout of what weighting.cl has written. The cells of prediction.cl are
// blocks here.

// Names in capitals that no kernel file defines are constants of motion-frames' `interpolation/rules.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "prediction.cl"
#include "hypotheses.cl"

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
                         __global uchar *made, FrameShape f, PlanesShape plane, int both
#if HIGH
                         , int has_neighbours
#endif
)
{
    const int column = (int)get_global_id(0), y = (int)get_global_id(1), number = (int)get_global_id(2);
    if (column >= f.columns || y >= plane.rows)
        return;
    const int2 block = (int2)(column, y / CELL_HEIGHT), pixel = (int2)(CELL_PIXELS * column, y);
    const int down = y % CELL_HEIGHT;
    Hypotheses h;
    find_hypotheses(chosen, coarse, badness, f, block, &h);
#if HIGH
    const uint weight_bits = WEIGHT_BITS + (uint)has_neighbours;
    const bool needs_weights = h.count > 1 || has_neighbours;
#else
    const uint weight_bits = WEIGHT_BITS;
    const bool needs_weights = h.count > 1;
#endif
    uint predicted[CELL_WIDTH], starts[CELL_WIDTH], ends[CELL_WIDTH];
    uint sums[CELL_WIDTH], totals[CELL_WIDTH], least[CELL_WIDTH], largest[CELL_WIDTH];
    read_range(previous, next, f, plane, number, pixel, least, largest);
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] = totals[i] = 0;
    // Those of the cells of this row.
    weights += (block.y * f.columns + block.x) * HYPOTHESES * MATCHES * 4 + 2 * (down / (CELL_HEIGHT / 2));
    for (int k = 0; k < h.count; ++k) {
        predict_row(previous, next, f, plane, number, pixel, h.vectors[k], (uint)both, least, largest, predicted, starts, ends);
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
        // Weights that are not needed have not been written.
        __global const uchar *of_vector = weights + k * MATCHES * 4;
        const uint2 of_match = needs_weights ? (uint2)(of_vector[0], of_vector[1]) : (uint2)(255);
#pragma unroll
        for (int i = 0; i < CELL_WIDTH; ++i) {
            const uint weight = spatial[i / PIXEL] * (i < CELL_WIDTH / 2 ? of_match.x : of_match.y) >> weight_bits;
            sums[i] += weight * (predicted[i] + 8 >> 4);
            totals[i] += weight;
        }
#if HIGH
        if (has_neighbours) {
            const uint2 of_start = (uint2)(of_vector[4], of_vector[5]), of_end = (uint2)(of_vector[8], of_vector[9]);
#pragma unroll
            for (int i = 0; i < CELL_WIDTH; ++i) {
                const uint start = spatial[i / PIXEL] * (i < CELL_WIDTH / 2 ? of_start.x : of_start.y) >> weight_bits;
                const uint end = spatial[i / PIXEL] * (i < CELL_WIDTH / 2 ? of_end.x : of_end.y) >> weight_bits;
                sums[i] += 4 * (start * starts[i] + end * ends[i]);
                totals[i] += start + end;
            }
        }
#endif
    }
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        sums[i] = (sums[i] + 2 * totals[i]) / (4 * totals[i]);
    write_row(made, plane, number, CELL_WIDTH * column, y, OF_ROW(as_int)(OF_ROW(vload)(0, sums)));
}
