// Frames without noise: what is measured of blocks and of their predictions from other frames, and the means.
//
// The oracle, denoising/oracle.rs, defines them. Built once for luma (-D LUMA=1) and, if there is chroma, once for that: see prediction.cl. In the
// order in which the host launches these kernels:
//
//   compare_frames   luma    for frames in memory of the device: whether one repeats the one before
//   make_points      luma    for each frame that is loaded
//   measure_luma     luma    for each frame that is denoised
//   compare_luma     luma    for the other frames, those that tell the noise first
//   measure_chroma   chroma
//   compare_chroma   chroma  for the other frames that tell the noise
//   refine           luma    for all other frames, when the noise is estimated (noise.cl)
//   compare_chroma   chroma  for all other frames
//   weigh            luma
//   average_luma     luma    the mean
//   smooth_luma      luma    what time leaves of the noise
//   average_chroma   chroma
//
// Of n blocks, of which block (column, row) has number row * columns + column:
//
//   luma_blocks     the n blocks; chroma_blocks the same
//   found           for each other frame the vectors of the blocks of the search frame, in quarter luma samples
//   vectors         for each other frame those of the n blocks, once they are refined
//   luma_errors     for each other frame the errors of the n blocks; chroma_errors the same
//   of_other_light  for each other frame how many blocks are brighter or darker in it
//   averages        how the n blocks are averaged
//   moments         for each cell of luma, of which (columns + 1) x (rows + 1) are between the centres of the blocks and outside them,
//                   those of its eight rows

// Names in capitals that no kernel file defines are constants of motion-frames' `interpolation/rules.rs` and `denoising/rules.rs`,
// which say what they are.

#include "common.cl"
#include "points.cl"
#include "prediction.cl"
#include "denoised_blocks.cl"

// Sums of squares over a block, and sums over its columns.
#if DEPTH == 8
typedef uint squares_t;
typedef OF_ROW(uint) column_squares_t;
typedef row_t column_products_t;
#define PRODUCTS(a, b) ((a) * (b))
#define SQUARES(row) OF_ROW(as_uint)((row) * (row))
#else
typedef ulong squares_t;
typedef OF_ROW(ulong) column_squares_t;
typedef OF_ROW(long) column_products_t;
#define PRODUCTS(a, b) (OF_ROW(convert_long)(a) * OF_ROW(convert_long)(b))
#define SQUARES(row) OF_ROW(as_ulong)(PRODUCTS(row, row))
#endif

// Of a cell with so many rows those that an item averages. On a CPU that is all of them: each row alone would compute again what they
// share.
#if ON_CPU
#define ROWS_OF_ITEM(rows) (rows)
#else
#define ROWS_OF_ITEM(rows) 1
#endif

// The same fields as the host's `Average`.
typedef struct {
    ushort weights[1 + MOST_REFERENCES];
    ushort change;
    ulong left;  // the noise that the mean leaves in luma
} Average;

// Sums over a row of a cell of luma: of its samples, of these times twice their distance from the centre, of their squares.
typedef struct {
    int sum, across;
    ulong squares;
} RowMoments;

// The same fields as the host's `FrameComparison`.
typedef struct {
    int reference[MOST_REFERENCES];  // the numbers of the other frames
    int step;                        // of chroma, each `step`th block is compared if vectors are not refined
    int is_refined;                  // whether vectors are refined, and the noise is known
    int planes;                      // planes of chroma
} Comparison;

// The samples or points of the other frames; the last ones repeat.
#define OTHERS(type)                                                                                                          \
    __global const type *other0, __global const type *other1, __global const type *other2, __global const type *other3,       \
        __global const type *other4, __global const type *other5, __global const type *other6, __global const type *other7
#define EACH_OTHER {other0, other1, other2, other3, other4, other5, other6, other7}

// The vector of a block of the search frame, the one of that of block (column, row), or `step` beside it.
static inline int2 found_vector(__global const int2 *found, FrameShape f, int reference, int2 block)
{
    const int rows = (f.rows + (1 << f.halvings) - 1) >> f.halvings;
    return found[((ulong)reference * (ulong)rows + (ulong)block.y) * (ulong)f.found_columns + (ulong)block.x];
}

// The first `count` samples of a row, and 0 behind them.
static inline row_t first_of_row(row_t row, int count)
{
    return row & (COLUMNS < (row_t)(count));
}

#if LUMA
#include "made_points.cl"

// Writes `number` to `differs` if two frames differ in plane number get_global_id(2) of those of the shape of `plane`. An item
// compares eight bytes; rows begin at multiples of that.
__kernel void compare_frames(__global const uchar *frame, __global const uchar *other, PlanesShape plane, uint number,
                             volatile __global uint *differs)
{
    const int x = 8 * (int)get_global_id(0), y = (int)get_global_id(1);
    const int bytes = min(plane.width * (int)sizeof(raw_t) - x, 8);
    if (bytes <= 0 || y >= plane.rows)
        return;
    const ulong at = plane.first + (ulong)get_global_id(2) * plane.bytes + (ulong)y * (ulong)plane.pitch + (ulong)x;
    const ulong both = *(__global const ulong *)(frame + at) ^ *(__global const ulong *)(other + at);
    // The first bytes are the lowest. What is behind the row's end does not count.
    if (both << (64 - 8 * bytes) != 0 && *differs != number)
        atomic_xchg(differs, number);
}

// Columns and rows of a block that are in the frame.
static inline int2 inside(FrameShape f, int column, int row)
{
    return min((int2)(f.width, f.height) - SIDE * (int2)(column, row), (int2)SIDE);
}

__kernel void measure_luma(__global const source_t *points, FrameShape f, PlanesShape plane,
                           __global LumaBlock *luma_blocks, __global uint *of_other_light)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1);
    if (column == 0 && row == 0)
        for (int i = 0; i < MOST_REFERENCES; ++i)
            of_other_light[i] = 0;
    if (column >= f.columns || row >= f.rows)
        return;
    const int2 size = inside(f, column, row);
    row_t sums = 0;
    column_squares_t all_squares = 0, all_steps = 0;
    for (int y = 0; y < size.y; ++y) {
        const row_t samples = row_at(points, f, plane, 0, 4 * SIDE * (int2)(column, row), y);
        const row_t in_frame = first_of_row(samples, size.x);
        const row_t steps_of_row = samples - samples.s12345677;
        sums += in_frame;
        all_squares += SQUARES(in_frame);
        all_steps += SQUARES(steps_of_row);
    }
    const uint sum = (uint)TOTAL(sums);
    const squares_t squares = TOTAL(all_squares), steps = TOTAL(all_steps);
    LumaBlock block;
    block.samples = (uint)(size.x * size.y);
    block.sum = sum;
    block.variation = (ulong)squares - per_sample((ulong)sum * sum, block.samples);
    // Of a part of a block there are no steps. White noise differs by twice its variance.
    const ulong white = size.x == SIDE ? (ulong)steps * 4 / 7 : 0;
    block.structure = sub_sat(block.variation, white);
    luma_blocks[row * f.columns + column] = block;
}

// The squared differences of the samples of a block and those that are predicted at the end of `vector`, and in `predicted` the sum
// of these.
static inline squares_t squared_differences(__global const source_t *points, __global const source_t *other, FrameShape f,
                                            PlanesShape plane, int2 block, int2 vector, uint *predicted)
{
    const int2 size = inside(f, block.x, block.y), from = 4 * SIDE * block;
    row_t sums = 0;
    column_squares_t squares = 0;
    for (int y = 0; y < size.y; ++y) {
        const row_t samples = row_at(points, f, plane, 0, from, y);
        const row_t others = row_at(other, f, plane, 0, from + vector, y);
        const row_t differences = first_of_row(samples - others, size.x);
        sums += first_of_row(others, size.x);
        squares += SQUARES(differences);
    }
    *predicted = (uint)TOTAL(sums);
    return TOTAL(squares);
}

// The error of a block, of as many columns and rows as `size` says, by the squared differences, the sum of its samples, that of the
// predicted ones, and the vector.
static inline LumaError luma_error(squares_t squares, int2 size, uint sum, uint predicted, int2 vector)
{
    const ushort gains[16] = {NOISE_GAINS};
    const int samples = size.x * size.y;
    const uint apart = abs_diff(sum, predicted);
    LumaError error;
    error.sum = squares;
    error.variation = (ulong)squares - per_sample((ulong)apart * apart, (uint)samples);
    error.gain = gains[4 * (vector.y & 3) + (vector.x & 3)];
    // The difference of the means, rounded.
    const int twice = 2 * ((int)sum - (int)predicted) + samples, divisor = 2 * samples;
    error.brighter = twice >= 0 ? twice / divisor : -((divisor - 1 - twice) / divisor);
    return error;
}

// Compares the blocks of luma with other frames, with number get_global_id(2) of those of `c`.
__kernel void compare_luma(__global const source_t *points, OTHERS(source_t), FrameShape f, PlanesShape plane, Comparison c,
                           __global const LumaBlock *luma_blocks, __global const int2 *found,
                           __global LumaError *luma_errors, volatile __global uint *of_other_light)
{
    __global const source_t *others[MOST_REFERENCES] = EACH_OTHER;
    const int column = (int)get_global_id(0), row = (int)get_global_id(1), reference = c.reference[get_global_id(2)];
    if (column >= f.columns || row >= f.rows)
        return;
    const int number = row * f.columns + column;
    const int2 block = (int2)(column, row), vector = found_vector(found, f, reference, block >> f.halvings);
    uint predicted;
    const squares_t squares = squared_differences(points, others[reference], f, plane, block, vector, &predicted);
    const LumaError error =
        luma_error(squares, inside(f, column, row), luma_blocks[number].sum, predicted, vector);
    luma_errors[number_of(f, reference, number)] = error;
    if (SAMPLES * (error.sum - error.variation) > LIGHT * error.variation)
        atomic_inc(of_other_light + reference);
}

// Gives a block with noise the vector of a neighbour in the search frame that predicts it better, and then one a few quarter samples
// beside that. The number of the other frame is get_global_id(2).
__kernel void refine(__global const source_t *points, OTHERS(source_t), FrameShape f, PlanesShape plane,
                     __global const LumaBlock *luma_blocks, __global const int2 *found, __global LumaError *luma_errors,
                     __global const uint *of_other_light, __global const BlockNoise *noise, __global int2 *vectors)
{
    __global const source_t *others[MOST_REFERENCES] = EACH_OTHER;
    const int column = (int)get_global_id(0), row = (int)get_global_id(1), reference = (int)get_global_id(2);
    if (column >= f.columns || row >= f.rows)
        return;
    __global const source_t *other = others[reference];
    const int number = row * f.columns + column;
    const ulong place = number_of(f, reference, number);
    const int2 searched = (int2)(column, row) >> f.halvings;
    const int2 last = (int2)(f.found_columns - 1, (f.rows - 1) >> f.halvings);
    const int2 own = found_vector(found, f, reference, searched);
    int2 best = own;
    const LumaError error = luma_errors[place];
    // Without texture any vector is as good as another.
    const LumaBlock block = luma_blocks[number];
    const bool is_plain = PLAIN * block.structure <= noise[number].luma;
    if ((noise[number].luma != 0 || noise[number].chroma != 0) && error.sum != 0 && !is_plain) {
        const bool flickers = is_of_other_light(of_other_light, f, reference);
        // The neighbours, then steps to the right or else to the left, and below or else above, from half of what the search could
        // not tell on.
        const int sides = 4, steps = 4 * f.halvings;
        const int2 size = inside(f, column, row);
        ulong least = difference_of(error, flickers);
        squares_t best_squares = 0;
        uint best_predicted = 0;
        bool was_better = false;
        for (int i = 0; i < sides + steps; ++i) {
            int2 vector;
            if (i < sides) {
                // Above, on the left, on the right and below.
                const int2 step = (int2)(i == 1 ? -1 : i == 2 ? 1 : 0, i == 0 ? -1 : i == 3 ? 1 : 0);
                const int2 beside = searched + step;
                if (beside.x < 0 || beside.y < 0 || beside.x > last.x || beside.y > last.y)
                    continue;
                vector = found_vector(found, f, reference, beside);
                if (vector.x == own.x && vector.y == own.y)
                    continue;
            } else {
                const int is_back = i % 2, length = (is_back ? -1 : 1) << (f.halvings - 1 - (i - sides) / 4);
                if (is_back && was_better)
                    continue;
                vector = best + (i / 2 % 2 == 0 ? (int2)(length, 0) : (int2)(0, length));
            }
            uint predicted;
            const squares_t squares =
                squared_differences(points, other, f, plane, (int2)(column, row), vector, &predicted);
            const ulong difference =
                flickers ? luma_error(squares, size, block.sum, predicted, vector).variation : squares;
            was_better = difference < least;
            if (was_better) {
                least = difference;
                best = vector;
                best_squares = squares;
                best_predicted = predicted;
            }
        }
        if (best.x != own.x || best.y != own.y)
            luma_errors[place] = luma_error(best_squares, size, block.sum, best_predicted, best);
    }
    vectors[place] = best;
}

// The weight of a prediction in 256ths of that of the frame itself. What noise does not make of the difference counts so many
// `thirds`.
static inline uint share(ulong noise, uint gain, uint gain_of_difference, ulong difference, uint thirds)
{
    const ulong mismatch = sub_sat(256 * difference, (256 + gain_of_difference) * noise);
    return (uint)(3 * 65536 * noise / max(3 * gain * noise + thirds * mismatch, (ulong)1));
}

// The weights of the frame itself and of `references` others, with the sum 256, and the most by which samples change, for all that
// is taken out of `noise`.
static inline Average average_of(const uint *shares, int references, ulong noise)
{
    Average average;
    uint sum = 256, own = 256;
    for (int i = 0; i < references; ++i)
        sum += shares[i];
    for (int i = 0; i < MOST_REFERENCES; ++i) {
        const uint weight = i < references ? (256 * shares[i] + sum / 2) / sum : 0;
        average.weights[1 + i] = (ushort)weight;
        own -= weight;
    }
    average.weights[0] = (ushort)own;
    // Two and a half deviations, and one level.
    const ulong square = 25 * noise / 256;
    uint root = 0;
    if (square >> 32 != 0) {
        root = 0xffff;
    } else {
        for (uint bit = 0x8000; bit != 0; bit >>= 1)
            if ((root + bit) * (root + bit) <= (uint)square)
                root += bit;
    }
    average.change = (ushort)(noise == 0 ? 0 : min(root + 1, 0xffffu));
    average.left = 0;
    return average;
}

// How the blocks of luma and of chroma are averaged. `chroma` is the first plane of that, with rows of blocks of 8 >> `halved_y`
// rows and 8 >> `halved_x` pixels of all planes together `components` samples each, 0 without chroma. The noise is taken out
// `strength` 64ths, also what time leaves of it if `is_spatial`.
__kernel void weigh(FrameShape f, PlanesShape chroma, int halved_x, int halved_y, int components, int references, int strength,
                    int is_spatial, __global const uint *of_other_light, __global const BlockNoise *noise,
                    __global const LumaError *luma_errors, __global const ChromaError *chroma_errors,
                    __global Average *averages, __global Average *chroma_averages)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1);
    if (column >= f.columns || row >= f.rows)
        return;
    const int number = row * f.columns + column;
    const int2 size = inside(f, column, row), sides = (int2)(SIDE >> halved_x, SIDE >> halved_y);
    const int2 of_chroma = min((int2)(chroma.columns, chroma.rows) - sides * (int2)(column, row), sides);
    const ulong samples = (ulong)(size.x * size.y), chroma_samples = (ulong)(of_chroma.x * of_chroma.y * components);
    const ulong taken = noise[number].luma * (ulong)strength / 64, chroma_taken = noise[number].chroma * (ulong)strength / 64;
    const ulong luma_noise = taken * samples / SAMPLES, chroma_noise = chroma_taken * chroma_samples / SAMPLES;
    // What luma may have for all that is known.
    const ulong possible = 2 * (max(taken, (ulong)SAMPLES << (2 * (DEPTH - 8))) * samples / SAMPLES);
    // The noise of luma, or less where a prediction differs by less than half of what noise makes.
    ulong shown = taken;
    uint shares[MOST_REFERENCES], chroma_shares[MOST_REFERENCES];
    for (int i = 0; i < references; ++i) {
        shares[i] = chroma_shares[i] = 0;
        if (taken == 0 && chroma_taken == 0)
            continue;
        const LumaError luma = luma_errors[number_of(f, i, number)];
        const ulong difference = difference_of(luma, is_of_other_light(of_other_light, f, i));
        shown = min(shown, per_sample(SAMPLES * (2 * 256 * difference / (256 + luma.gain)), (uint)samples));
        if (luma_noise == 0 && chroma_noise == 0)
            continue;
        ChromaError error = {0, 0, 0, 0};
        if (chroma_noise != 0)
            error = chroma_errors[number_of(f, i, number)];
        // A prediction that equals an earlier one tells nothing new.
        bool is_new = true, is_new_in_chroma = true;
        for (int k = 0; k < i; ++k) {
            const LumaError other = luma_errors[number_of(f, k, number)];
            const bool is_equal = other.sum == luma.sum && other.variation == luma.variation && other.gain == luma.gain &&
                                  other.brighter == luma.brighter;
            is_new = is_new && !is_equal;
            if (is_equal && chroma_noise != 0) {
                const ChromaError of_other = chroma_errors[number_of(f, k, number)];
                is_new_in_chroma = is_new_in_chroma && !(of_other.sum == error.sum && of_other.gain == error.gain &&
                                                         of_other.right == error.right && of_other.below == error.below);
            }
        }
        if (luma.sum != 0 && is_new)
            shares[i] = share(luma_noise, luma.gain, luma.gain, difference, max((uint)references + 2, 6u));
        if (chroma_noise != 0 && error.sum != 0 && is_new_in_chroma)
            chroma_shares[i] = min(share(possible, error.gain, luma.gain, difference, 3),
                                   share(chroma_noise, error.gain, error.gain, error.sum, 3));
    }
    Average average = average_of(shares, references, taken);
    if (is_spatial) {
        uint squares = 0;
        for (int i = 0; i <= MOST_REFERENCES; ++i)
            squares += (uint)average.weights[i] * average.weights[i];
        average.left = shown * squares / (256 * 256);
    }
    averages[number] = average;
    if (components > 0)
        chroma_averages[number] = average_of(chroma_shares, references, chroma_taken);
}

// The blocks around a cell of luma, above on the left first. At the edges of the frame they are the same.
static inline void blocks_around(FrameShape f, int column, int row, int *around)
{
    const int left = max(column - 1, 0), right = min(column, f.columns - 1);
    const int above = max(row - 1, 0) * f.columns, below = min(row, f.rows - 1) * f.columns;
    around[0] = above + left;
    around[1] = above + right;
    around[2] = below + left;
    around[3] = below + right;
}

#define LUMA_ROWS ROWS_OF_ITEM(SIDE)

// Twice the distances of the samples of a row from the centre of their cell.
#define ACROSS (2 * COLUMNS - (SIDE - 1))

// Writes the mean of luma, whose blocks overlap, and its moments. An item makes LUMA_ROWS rows of a cell, also outside the frame.
__kernel void average_luma(__global const source_t *points, OTHERS(source_t), FrameShape f, PlanesShape plane, int references,
                           __global const int2 *vectors, __global const LumaError *luma_errors,
                           __global const uint *of_other_light, __global const Average *averages,
                           __global RowMoments *moments, __global uchar *made)
{
    __global const source_t *others[MOST_REFERENCES] = EACH_OTHER;
    const int cell = (int)get_global_id(0), at = LUMA_ROWS * (int)get_global_id(1);
    if (cell > f.columns || at >= SIDE * (f.rows + 1))
        return;
    const int2 place = (int2)(SIDE * cell, at) - SIDE / 2;
    const int row = at / SIDE, down = at % SIDE;
    int around[4];
    blocks_around(f, cell, row, around);
    row_t samples[LUMA_ROWS], means[LUMA_ROWS];
#pragma unroll
    for (int y = 0; y < LUMA_ROWS; ++y) {
        samples[y] = row_at(points, f, plane, 0, 4 * place, y);
        means[y] = 8192;
    }
    for (int corner = 0; corner < 4; ++corner) {
        const int block = around[corner];
        __global const Average *average = averages + block;
        row_t sums[LUMA_ROWS];
#pragma unroll
        for (int y = 0; y < LUMA_ROWS; ++y)
            sums[y] = average->weights[0] * samples[y] + 2;
        for (int other = 0; other < references; ++other) {
            const int weight = average->weights[1 + other];
            if (weight == 0)
                continue;
            const ulong number = number_of(f, other, block);
            const int2 position = 4 * place + vectors[number];
            const bool is_brighter = is_of_other_light(of_other_light, f, other);
            const int brighter = is_brighter ? luma_errors[number].brighter : 0;
#pragma unroll
            for (int y = 0; y < LUMA_ROWS; ++y) {
                row_t predicted = row_at(others[other], f, plane, 0, position, y);
                if (is_brighter)
                    predicted = clamp(predicted + brighter, (row_t)(0), (row_t)(PEAK));
                sums[y] += weight * predicted;
            }
        }
        const row_t width = corner % 2 == 0 ? SIDE - ACROSS : SIDE + ACROSS;
#pragma unroll
        for (int y = 0; y < LUMA_ROWS; ++y) {
            const int height = corner < 2 ? 2 * (SIDE - down - y) - 1 : 2 * (down + y) + 1;
            means[y] += height * width * (sums[y] >> 2);
        }
    }
    moments += (row * (f.columns + 1) + cell) * SIDE + down;
#pragma unroll
    for (int y = 0; y < LUMA_ROWS; ++y) {
        means[y] >>= 14;
        const column_squares_t squares = SQUARES(means[y]);
        const row_t across = means[y] * ACROSS;
        const RowMoments of_row = {TOTAL(means[y]), TOTAL(across), TOTAL(squares)};
        moments[y] = of_row;
        if (place.y + y >= 0 && place.y + y < plane.rows)
            write_row(made, plane, 0, place.x, place.y + y, means[y]);
    }
}

// Brings the cells of a mean nearer to the planes that differ least from them, as far as that is noise, and limits how much samples
// change. An item makes LUMA_ROWS rows of a cell.
__kernel void smooth_luma(__global const source_t *points, FrameShape f, PlanesShape plane, __global const Average *averages,
                          __global const RowMoments *moments, __global uchar *made)
{
    const int cell = (int)get_global_id(0), at = LUMA_ROWS * (int)get_global_id(1);
    const int x = SIDE * cell - SIDE / 2;
    if (x >= plane.width || at - SIDE / 2 >= plane.rows)
        return;
    const int row = at / SIDE;
    int around[4];
    blocks_around(f, cell, row, around);
    ulong left = averages[around[0]].left;
    for (int i = 1; i < 4; ++i)
        left = min(left, averages[around[i]].left);
    long sum = 0, across = 0, down = 0;
    int kept = 256;
    if (left > 0) {
        ulong squares = 0;
        moments += (row * (f.columns + 1) + cell) * SIDE;
        for (int i = 0; i < SIDE; ++i) {
            const RowMoments of_row = moments[i];
            sum += of_row.sum;
            across += of_row.across;
            down += (long)of_row.sum * (2 * i - (SIDE - 1));
            squares += of_row.squares;
        }
        // 64 times the squared differences from the plane, and as much noise: half of what each block leaves, as they overlap.
        const ulong on_plane = (ulong)(sum * sum + (across * across + down * down) / PER_SLOPE);
        const ulong differing = sub_sat(SAMPLES * squares, on_plane), noise = SAMPLES * left / 2;
        // Wiener's filter.
        const bool is_noise = 256 * noise >= (256 - LEAST_KEPT) * differing;
        kept = is_noise ? LEAST_KEPT : 256 - (int)(256 * noise / differing);
    }
    const row_t across_plane = (int)sum + (int)(across / PER_SLOPE) * ACROSS;
    const int down_plane = (int)(down / PER_SLOPE);
#pragma unroll
    for (int i = 0; i < LUMA_ROWS; ++i) {
        const int y = at + i - SIDE / 2, from_top = at % SIDE + i;
        if (y < 0 || y >= plane.rows)
            continue;
        __global const raw_t *raw =
            (__global const raw_t *)(made + plane.first + (ulong)y * (ulong)plane.pitch) + x;
        row_t means = 0;
        if (x >= 0 && x + SIDE <= plane.width) {
            means = convert_int8(vload8(0, raw)) >> SHIFT & PEAK;
        } else {
            int inside[SIDE];
#pragma unroll
            for (int k = 0; k < SIDE; ++k)
                inside[k] = x + k >= 0 && x + k < plane.width ? sample_of(raw[k]) : 0;
            means = vload8(0, inside);
        }
        if (left > 0) {
            const row_t of_plane =
                clamp(across_plane + down_plane * (2 * from_top - (SIDE - 1)), (row_t)(0), (row_t)(SAMPLES * PEAK));
            means = (SAMPLES * kept * means + (256 - kept) * of_plane + 8192) >> 14;
        }
        const row_t samples = row_at(points, f, plane, 0, 4 * (int2)(x, y), 0);
        const int of_left = averages[around[from_top < SIDE / 2 ? 0 : 2]].change;
        const int of_right = averages[around[from_top < SIDE / 2 ? 1 : 3]].change;
        const row_t change = COLUMNS < (row_t)(SIDE / 2) ? (row_t)(of_left) : (row_t)(of_right);
        write_row(made, plane, 0, x, y, clamp(means, samples - change, samples + change));
    }
}
#else

// Pixels and rows of a block that are in the plane.
static inline int2 inside(PlanesShape plane, int column, int row)
{
    const int2 sides = (int2)(CELL_PIXELS, CELL_HEIGHT);
    return min((int2)(plane.columns, plane.rows) - sides * (int2)(column, row), sides);
}

// Measures the blocks of all `count` planes of chroma.
__kernel void measure_chroma(__global const uchar *planes, FrameShape f, PlanesShape plane, int count,
                             __global ChromaBlock *chroma_blocks)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1);
    if (column >= f.columns || row >= f.rows)
        return;
    const int2 size = inside(plane, column, row), first = (int2)(CELL_PIXELS * column, CELL_HEIGHT * row);
    const uint samples = (uint)(size.x * size.y);
    ChromaBlock block = {0, 0, 0, 0, 0};
    block.samples = (ulong)samples * PIXEL * (ulong)count;
    for (int component = 0; component < count; ++component) {
        row_t sums = 0;
        column_squares_t squares = 0, along = 0, down = 0;
        column_products_t both = 0;
        for (int y = 0; y < size.y; ++y) {
            const row_t left = row_at(planes, f, plane, component, UNITS * (first - (int2)(1, 0)), y);
            const row_t middle = row_at(planes, f, plane, component, UNITS * first, y);
            const row_t right = row_at(planes, f, plane, component, UNITS * (first + (int2)(1, 0)), y);
            const row_t above = row_at(planes, f, plane, component, UNITS * first, y - 1);
            const row_t below = row_at(planes, f, plane, component, UNITS * first, y + 1);
            const row_t in_plane = first_of_row(middle, size.x * PIXEL);
            const row_t across = first_of_row(left + right - 2 * middle, size.x * PIXEL);
            const row_t downwards = first_of_row(above + below - 2 * middle, size.x * PIXEL);
            sums += in_plane;
            squares += SQUARES(in_plane);
            along += SQUARES(across);
            down += SQUARES(downwards);
            both += PRODUCTS(across, downwards);
        }
        block.variation += (ulong)TOTAL(squares);
        int of_columns[CELL_WIDTH];
        OF_ROW(vstore)(sums, 0, of_columns);
        for (int of_pixel = 0; of_pixel < PIXEL; ++of_pixel) {
            ulong sum = 0;
            for (int i = of_pixel; i < CELL_WIDTH; i += PIXEL)
                sum += (ulong)of_columns[i];
            block.variation -= sum * sum / samples;
        }
        block.along += (ulong)TOTAL(along);
        block.down += (ulong)TOTAL(down);
        block.both += (long)TOTAL(both);
    }
    chroma_blocks[row * f.columns + column] = block;
}

// Compares the blocks of all planes of chroma with other frames, with number get_global_id(2) of those of `c`; those with noise
// alone, if that is known.
__kernel void compare_chroma(__global const uchar *planes, OTHERS(uchar), FrameShape f, PlanesShape plane, Comparison c,
                             __global const int2 *found, __global const int2 *vectors, __global const BlockNoise *noise,
                             __global ChromaError *chroma_errors)
{
    __global const uchar *others[MOST_REFERENCES] = EACH_OTHER;
    const int column = (int)get_global_id(0), row = (int)get_global_id(1), reference = c.reference[get_global_id(2)];
    if (column >= f.columns || row >= f.rows)
        return;
    __global const uchar *other = others[reference];
    const int number = row * f.columns + column;
    const ulong place = number_of(f, reference, number);
    if (c.is_refined ? noise[number].chroma == 0 : number % c.step != 0)
        return;
    const int2 vector =
        c.is_refined ? vectors[place] : found_vector(found, f, reference, (int2)(column, row) >> f.halvings);
    const int2 size = inside(plane, column, row), first = (int2)(CELL_PIXELS * column, CELL_HEIGHT * row);
    const int2 position = STEPS * (4 * SIDE * (int2)(column, row) + vector);
    column_squares_t all_squares = 0;
    for (int component = 0; component < c.planes; ++component) {
        for (int y = 0; y < size.y; ++y) {
            const row_t samples = row_at(planes, f, plane, component, UNITS * first, y);
            const row_t predicted = row_at(other, f, plane, component, position, y);
            const row_t differences = first_of_row(samples - predicted, size.x * PIXEL);
            all_squares += SQUARES(differences);
        }
    }
    const squares_t squares = TOTAL(all_squares);
    const uint right = (uint)position.x & 7, below = (uint)position.y & 7;
    const uint across = (8 - right) * (8 - right) + right * right, down = (8 - below) * (8 - below) + below * below;
    ChromaError error;
    error.sum = squares;
    error.gain = (ushort)(across * down / 16);
    error.right = (uchar)right;
    error.below = (uchar)below;
    chroma_errors[place] = error;
}

#define CHROMA_ROWS ROWS_OF_ITEM(CELL_HEIGHT)

// Writes plane number get_global_id(2) of those of chroma. An item makes CHROMA_ROWS rows of a block.
__kernel void average_chroma(__global const uchar *planes, OTHERS(uchar), FrameShape f, PlanesShape plane, int references,
                             __global const int2 *vectors, __global const Average *averages, __global uchar *made)
{
    __global const uchar *others[MOST_REFERENCES] = EACH_OTHER;
    const int column = (int)get_global_id(0), top = CHROMA_ROWS * (int)get_global_id(1), component = (int)get_global_id(2);
    if (column >= f.columns || top >= plane.rows)
        return;
    const int block = top / CELL_HEIGHT * f.columns + column;
    __global const Average *average = averages + block;
    const int2 first = (int2)(CELL_PIXELS * column, top);
    row_t samples[CHROMA_ROWS], sums[CHROMA_ROWS];
#pragma unroll
    for (int y = 0; y < CHROMA_ROWS; ++y) {
        samples[y] = row_at(planes, f, plane, component, UNITS * first, y);
        sums[y] = average->weights[0] * samples[y] + 128;
    }
    for (int other = 0; other < references; ++other) {
        const int weight = average->weights[1 + other];
        if (weight == 0)
            continue;
        const int2 position = UNITS * first + STEPS * vectors[number_of(f, other, block)];
#pragma unroll
        for (int y = 0; y < CHROMA_ROWS; ++y)
            sums[y] += weight * row_at(others[other], f, plane, component, position, y);
    }
    const row_t change = average->change;
#pragma unroll
    for (int y = 0; y < CHROMA_ROWS; ++y) {
        const row_t sample = samples[y], mean = sums[y] >> 8;
        if (top + y < plane.rows)
            write_row(made, plane, component, CELL_WIDTH * column, top + y,
                      clamp(mean, sample - change, sample + change));
    }
}
#endif
