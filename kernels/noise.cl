// The noise of a frame: how much there is where, and at which brightness, by how well the frames beside it predict its blocks.
//
// The oracle, denoising/oracle.rs, defines it, and the CPU's denoising/told.rs and denoising/map.rs say why; names are the same. In
// the order in which the host launches these kernels, after those of denoising.cl that measure and compare:
//
//   tell_luma      what each block that is asked tells in comparison with each frame beside
//   sum_up_luma    what that tells of the frame as a whole; a group for each frame beside
//   tell_areas     what it tells of areas; a group for each of these and each frame beside
//   follow_areas   the noise of the areas, from that in the frame before
//   luma_noise     the noise of the blocks
//   tell_chroma, sum_up_chroma, tell_areas, follow_areas, chroma_noise   the same for chroma
//
// or known_noise alone, where the noise is known. Of noise that is not known the value is NONE. What a kernel reads is in
// denoising.cl, and:
//
//   told          for each frame beside the noise that the blocks tell that are asked; another part for chroma
//   frames_told   for each frame beside what it tells of the frame; the same for chroma behind them
//   areas_told    for each frame beside, and each area, the noise of its shades and of all
//   state         the noise of areas after a frame: the part of the blocks that is lost in the frame after it, then for luma and
//                 for chroma, for each area, the noise of its shades and of all
//   own           for each area the noise of the shades that have another than the frame

// Names in capitals that no kernel file defines are constants of motion-frames' `denoising/limits.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "denoised_blocks.cl"
#include "frame_noise.cl"

// The first column or row of area `area` of `areas`, of `blocks`.
static inline int first_of_area(int area, int areas, int blocks)
{
    return (area * blocks + areas - 1) / areas;
}

// What a group that tells the noise of an area shares.
typedef struct {
    ulong told[MOST_OF_AREA];
    uchar shade[MOST_OF_AREA];
    ulong noise[SHADES_AND_ALL];
    uint count[SHADES_AND_ALL], unlike[SHADES_AND_ALL], lost;
} AreaTold;

// Tells the noise of an area whose blocks agree, by what a frame beside tells of luma, or of chroma.
__kernel void tell_areas(FrameShape f, AskedBlocks a, int is_chroma, __global const LumaBlock *luma_blocks,
                         __global const LumaError *luma_errors, __global const uint *of_other_light,
                         __global const ulong *told, __global const FrameTold *frames_told, __global ulong *areas_told)
{
    __local AreaTold area;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int number = (int)get_group_id(0), beside = (int)get_group_id(1), reference = a.reference[beside];
    const bool flickers = is_of_other_light(of_other_light, f, reference);
    const uint samples = is_chroma ? (uint)a.chroma_samples : SAMPLES;
    told += (is_chroma * BESIDE + beside) * asked_of(f, a);
    frames_told += is_chroma * BESIDE + beside;
    luma_errors += number_of(f, reference, 0);
    const int2 grid = (int2)(a.columns, a.rows), blocks = (int2)(f.columns, f.rows);
    const int2 at = (int2)(number % grid.x, number / grid.x);
    const int2 from = (int2)(first_of_area(at.x, grid.x, blocks.x), first_of_area(at.y, grid.y, blocks.y));
    const int2 to = (int2)(first_of_area(at.x + 1, grid.x, blocks.x), first_of_area(at.y + 1, grid.y, blocks.y));
    const int columns = to.x - from.x, count = columns * (to.y - from.y);
    for (int shade = item; shade <= ALL; shade += items) {
        area.noise[shade] = NONE;
        area.count[shade] = area.unlike[shade] = 0;
    }
    if (item == 0)
        area.lost = 0;
    for (int i = item; i < count; i += items) {
        const int block = (from.y + i / columns) * blocks.x + from.x + i % columns;
        const ulong noise = block % a.step == 0 ? told[block / a.step] : NONE;
        area.told[i] = noise == 0 ? NONE : noise;
        area.shade[i] = (uchar)shade_of(luma_blocks[block]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // That one is chosen of a shade, or of all, of which a quarter is less.
    for (int i = item; i < count; i += items) {
        const ulong noise = area.told[i];
        if (noise == NONE)
            continue;
        const uchar shade = area.shade[i];
        uint all = 0, less = 0, all_of_shade = 0, less_of_shade = 0;
        for (int k = 0; k < count; ++k) {
            const ulong other = area.told[k];
            const uint is_told = other != NONE, is_less = other < noise || (other == noise && k < i);
            const uint is_of_shade = area.shade[k] == shade;
            all += is_told;
            less += is_less;
            all_of_shade += is_told & is_of_shade;
            less_of_shade += is_less & is_of_shade;
        }
        const ulong of_all = noise * 256 / quartile_of_white(samples);
        if (less == all / 4) {
            area.noise[ALL] = of_all;
            area.count[ALL] = all;
        }
        if (less_of_shade == all_of_shade / 4) {
            area.noise[shade] = of_all;
            area.count[shade] = all_of_shade;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong of_frame[SHADES_AND_ALL];
    for (int shade = 0; shade <= ALL; ++shade)
        of_frame[shade] = frames_told->noise[shade];
    const ulong trust = frames_told->trust;
    for (int i = item; i < count; i += items) {
        if (area.told[i] == NONE)
            continue;
        for (int which = 0; which < 2; ++which) {
            const int shade = which ? ALL : area.shade[i];
            const ulong noise = area.noise[shade];
            const ulong little = noise_of_shade(of_frame, shade) * trust / TRUST / LITTLE;
            if (area.told[i] > max(noise * 4 / 3, little))
                atomic_inc(&area.unlike[shade]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int shade = item; shade <= ALL; shade += items)
        if (area.count[shade] < LEAST_OF_AREA || 8 * area.unlike[shade] > area.count[shade])
            area.noise[shade] = NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where the search does not find what it must find, differences do not tell noise.
    for (int i = item; i < count && !is_chroma; i += items) {
        if (area.told[i] == NONE)
            continue;
        const int block = (from.y + i / columns) * blocks.x + from.x + i % columns, shade = area.shade[i];
        const ulong noise = or_else(or_else(area.noise[shade], area.noise[ALL]), noise_of_shade(of_frame, shade));
        const ulong difference = difference_of(luma_errors[block], flickers);
        if (is_lost(luma_blocks[block], noise, frames_told->sure, difference))
            atomic_inc(&area.lost);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // If none tells anything there is no count, nor noise.
    const bool is_told = LOST * area.lost <= area.count[ALL];
    areas_told += (beside * areas_of(a) + number) * SHADES_AND_ALL;
    for (int shade = item; shade <= ALL; shade += items)
        areas_told[shade] = is_told ? area.noise[shade] : NONE;
}

// The noise of a shade of the frame, or of all, as that frame beside tells it that tells the least.
static inline void frame_noise(AskedBlocks a, __global const FrameTold *frames_told, ulong *noise)
{
    for (int shade = 0; shade <= ALL; ++shade)
        noise[shade] = NONE;
    ulong least = NONE;
    for (int i = 0; i < a.references; ++i) {
        if (frames_told[i].noise[ALL] >= least)
            continue;
        least = frames_told[i].noise[ALL];
        for (int shade = 0; shade <= ALL; ++shade) {
            const ulong of_frame = frames_told[i].noise[shade];
            noise[shade] = of_frame == NONE ? NONE : of_frame * frames_told[i].trust / TRUST;
        }
    }
}

__kernel void follow_areas(AskedBlocks a, int is_chroma, __global const FrameTold *frames_told,
                           __global const ulong *areas_told, __global const ulong *before, __global ulong *after,
                           __global ulong *own)
{
    const int area = (int)get_global_id(0), areas = areas_of(a);
    if (area >= areas)
        return;
    const bool is_forgotten =
        a.is_first || (a.previous >= 0 ? frames_told[a.previous].lost : before[0]) > LOST_OF_SCENE;
    if (area == 0)
        after[0] = a.next >= 0 ? frames_told[a.next].lost : 0;
    ulong of_frame[SHADES_AND_ALL], of_area[SHADES_AND_ALL];
    frame_noise(a, frames_told + is_chroma * BESIDE, of_frame);
    const int first = 1 + (is_chroma * areas + area) * SHADES_AND_ALL;
    for (int shade = 0; shade <= ALL; ++shade) {
        ulong told = NONE;
        for (int i = 0; i < a.references; ++i)
            told = min(told, areas_told[(i * areas + area) * SHADES_AND_ALL + shade]);
        of_area[shade] = after[first + shade] = or_else(told, is_forgotten ? NONE : before[first + shade]);
    }
    for (int shade = 0; shade < SHADES; ++shade) {
        const ulong noise = or_else(of_area[shade], of_area[ALL]), all = noise_of_shade(of_frame, shade);
        const bool is_own = noise != NONE && (LITTLE * noise < all || noise > MORE_NOISE * all);
        own[area * SHADES + shade] = is_own ? noise : NONE;
    }
}

// The noise of block `number`, whose shade it has, and of whose variation `white` is that of differences of neighbours. `told`
// is that of luma, or that of chroma, as are `frames_told` and `own`.
static inline ulong noise_of_block(FrameShape f, AskedBlocks a, int number, int shade, ulong white,
                                   __global const ulong *told, __global const FrameTold *frames_told,
                                   __global const ulong *own)
{
    ulong of_frame[SHADES_AND_ALL];
    frame_noise(a, frames_told, of_frame);
    const int2 block = (int2)(number % f.columns, number / f.columns);
    const int2 area = block * (int2)(a.columns, a.rows) / (int2)(f.columns, f.rows);
    const int2 from = max(area - 1, (int2)0), to = min(area + 1, (int2)(a.columns, a.rows) - 1);
    const ulong known = or_else(own[(area.y * a.columns + area.x) * SHADES + shade], noise_of_shade(of_frame, shade));
    ulong least = NONE;
    for (int i = 0; i < a.references; ++i)
        least = min(least, told[i * asked_of(f, a) + number / a.step]);
    // Of another kind than most of its area, or in an area that tells nothing.
    const bool is_other = least != NONE && least > known;
    ulong most = 0;
    for (int y = from.y; y <= to.y; ++y) {
        for (int x = from.x; x <= to.x; ++x) {
            const ulong near = or_else(own[(y * a.columns + x) * SHADES + shade], 0);
            if (near > 2 * known && near <= 2 * min(least, white))
                most = max(most, near);
        }
    }
    return is_other && most > 0 ? most : known;
}

// In clean frames areas seem to have noise by coding.
static inline bool is_coding(ulong luma, ulong chroma)
{
    return 2 * luma < LEAST_NOISE && chroma < 2 * LEAST_NOISE;
}

static inline bool is_clean_frame(AskedBlocks a, __global const FrameTold *frames_told)
{
    bool is_clean = false;
    for (int i = 0; i < a.references; ++i)
        is_clean = is_clean || frames_told[i].is_clean;
    return is_clean;
}

// Whether flat blocks are those of bars.
static inline bool has_bars(AskedBlocks a, __global const FrameTold *frames_told)
{
    bool has_bars = false;
    for (int i = 0; i < a.references; ++i)
        has_bars = has_bars || frames_told[i].has_bars;
    return has_bars;
}

// The noise that a block has, of `noise` that it would have if samples could go further down and up.
static inline ulong with_clipping(ulong noise, LumaBlock block)
{
    return noise * part_left(false, noise, block) / 256;
}

static inline ulong worthwhile(ulong noise)
{
    return noise < LEAST ? 0 : noise;
}

// The number of the block of this item, or -1 if there is none.
static inline int block_of_item(FrameShape f)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1);
    return column < f.columns && row < f.rows ? row * f.columns + column : -1;
}

__kernel void luma_noise(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks, __global const ulong *told,
                         __global const FrameTold *frames_told, __global const ulong *own, __global BlockNoise *noise)
{
    const int number = block_of_item(f);
    if (number < 0)
        return;
    const LumaBlock block = luma_blocks[number];
    const int shade = shade_of(block);
    ulong known = noise_of_block(f, a, number, shade, block.variation - block.structure, told, frames_told, own);
    if (is_clean_frame(a, frames_told) && is_coding(known, 0))
        known = 0;
    // A block of a bar has none: between samples the picture beside it would be mixed into it.
    const bool is_bar = block.variation == 0 && has_bars(a, frames_told);
    noise[number].luma = is_bar ? 0 : worthwhile(with_clipping(known, block));
    noise[number].chroma = 0;
}

__kernel void chroma_noise(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                           __global const ChromaBlock *chroma_blocks, __global const ulong *told,
                           __global const FrameTold *frames_told, __global const ulong *own, __global BlockNoise *noise)
{
    const int number = block_of_item(f);
    if (number < 0)
        return;
    const LumaBlock block = luma_blocks[number];
    const int shade = shade_of(block);
    ulong known =
        noise_of_block(f, a, number, shade, NONE, told + BESIDE * asked_of(f, a), frames_told + BESIDE, own);
    if (is_clean_frame(a, frames_told) && is_coding(noise[number].luma, known))
        known = 0;
    const bool are_flat = block.variation == 0 && chroma_blocks[number].variation == 0;
    noise[number].chroma = are_flat && has_bars(a, frames_told) ? 0 : worthwhile(known);
}

// The noise of the blocks of a frame whose noise is known. Flat blocks have none.
__kernel void known_noise(FrameShape f, ulong known, int has_chroma, __global const LumaBlock *luma_blocks,
                          __global const ChromaBlock *chroma_blocks, __global BlockNoise *noise)
{
    const int number = block_of_item(f);
    if (number < 0)
        return;
    const LumaBlock block = luma_blocks[number];
    const bool is_flat = block.variation == 0;
    noise[number].luma = is_flat ? 0 : worthwhile(with_clipping(known, block));
    const bool has_none = !has_chroma || (is_flat && chroma_blocks[number].variation == 0);
    noise[number].chroma = has_none ? 0 : worthwhile(known);
}
