// The noise of a frame: how much there is where, and at which brightness, by how well the frames beside it predict its blocks.
//
// the oracle, denoising/oracle.rs, defines it, and the CPU's denoising/told.rs and denoising/map.rs say why; names are the same. In
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
//   state         the noise of areas after a frame: the part of the blocks that is lost in the frame before and in the one after,
//                 then for luma and for chroma, for each area, the noise of its shades and of all
//   own           for each area the noise of the shades that have another than the frame

// Names in capitals that no kernel file defines are constants of motion-frames' `denoising/limits.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "denoised_blocks.cl"

#define NONE ULONG_MAX

// The place of all shades together, behind them.
#define ALL SHADES
#define SHADES_AND_ALL (SHADES + 1)

// The most frames beside a frame.
#define BESIDE 2

// The noise of 64 samples of a deviation of 1 in eight bits.
#define LEAST_NOISE ((ulong)SAMPLES << (2 * (DEPTH - 8)))

// The same fields as the host's `AskedBlocks`.
typedef struct {
    int columns, rows;      // of areas
    int step;               // each block is asked whose number is a multiple
    int references;         // frames beside
    int reference[BESIDE];  // their numbers among the other frames
    int previous, next;     // which of them is before the frame, and which after it; -1: none
    int is_first;           // there is no frame before
    int chroma_samples;     // of the first block, in all planes
} AskedBlocks;

// What a frame beside tells of the frame as a whole. The host has its size.
typedef struct {
    ulong noise[SHADES_AND_ALL];
    ulong sure;  // the noise that is sure to be noise, however coarse
    uint trust;  // how much `noise` counts, of TRUST
    uint lost;   // the part of the blocks that the search has lost, in 256ths
    uint is_clean, has_bars;
} FrameTold;

static inline int asked_of(FrameShape f, AskedBlocks a)
{
    return (blocks_of(f) + a.step - 1) / a.step;
}

static inline int areas_of(AskedBlocks a)
{
    return a.columns * a.rows;
}

static inline bool is_whole(LumaBlock block)
{
    return block.samples == SAMPLES;
}

// The shade of the brightness of a block.
static inline int shade_of(LumaBlock block)
{
    return min((int)(per_sample(SHADES * (ulong)block.sum, block.samples) >> DEPTH), SHADES - 1);
}

static inline ulong or_else(ulong noise, ulong other)
{
    return noise != NONE ? noise : other;
}

// That of a shade, or of all, or 0.
static inline ulong noise_of_shade(const ulong *noise, int shade)
{
    return or_else(or_else(noise[shade], noise[ALL]), 0);
}

// The most noise that a block has: its variation, or that of a difference of 1 in eight bits.
static inline ulong most_noise(ulong variation, uint samples)
{
    return max(per_sample(variation * SAMPLES, samples), LEAST_NOISE);
}

// The whole root.
static inline ulong root_of(ulong square)
{
    ulong root = 0;
    for (ulong bit = 1ul << 31; bit != 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= square)
            root += bit;
    return root;
}

// The part of a block's noise that is left where its brightness is near a limit, in 256ths. `noise` is what is left of it if
// `is_of_left`, else all of it.
static inline ulong part_left(bool is_of_left, ulong noise, LumaBlock block)
{
    const ushort parts[2][12] = {{CLIPPED}, {LEFT}};
    const ulong samples = block.samples, sum = block.sum, from_limit = min(sum, sub_sat(samples * PEAK, sum));
    // The mean is more than 11 quarters of the deviation away.
    if (SAMPLES * from_limit * from_limit >= 8 * noise * samples * samples)
        return 256;
    const ulong at = ((from_limit << 21) / samples) / max(root_of(noise << 16), (ulong)1);
    if (at >= 11 * 256)
        return 256;
    const ulong low = parts[is_of_left][at / 256], high = parts[is_of_left][at / 256 + 1];
    return low + (high - low) * (at % 256) / 256;
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

static inline bool is_flat_repeat(LumaBlock block, LumaError error)
{
    return error.sum == 0 && block.variation == 0;
}

// The noise of a block of luma.
static inline ulong noise_of_luma(LumaBlock block, LumaError error, bool flickers)
{
    if (!is_whole(block) || is_flat_repeat(block, error))
        return NONE;
    const ulong noise =
        min(256 * difference_of(error, flickers) / (256 + error.gain), most_noise(block.variation, block.samples));
    if (noise == 0)
        return 0;
    const ushort parts[12] = {LEFT};
    const ulong left = part_left(true, noise, block);
    return left >= parts[2] ? noise * 256 / left : NONE;
}

// The noise of a block of chroma.
static inline ulong noise_of_chroma(ChromaBlock block, ChromaError error)
{
    const ulong x = error.right * (8 - error.right), y = error.below * (8 - error.below);
    const ulong of_noise = (6 * (x * x + y * y) + 8 * x * y) / 64;
    const long bends = (long)(x * x * block.along + y * y * block.down) + 2 * (long)(x * y) * block.both;
    const ulong part = LOSS * of_noise / 2, lost = LOSS * ((ulong)max(bends, 0l) / (128 * 128)) / 2;
    ulong noise = 256 * SAMPLES * sub_sat(error.sum, lost) / (block.samples * (256 + error.gain - part));
    noise = max(noise, (ulong)(error.sum > 0));
    return min(noise, most_noise(block.variation, (uint)block.samples));
}

// Whether the search has found the texture of a whole block.
static inline bool is_found(LumaBlock block, ulong difference)
{
    return FOUND * difference <= block.variation;
}

// Whether it has lost it.
static inline bool is_lost(LumaBlock block, ulong noise, ulong sure, ulong difference)
{
    if (is_found(block, difference))
        return false;
    const bool is_texture = block.variation >= TEXTURE * noise ||
                            difference > MORE_TEXTURE * most_noise(block.variation, block.samples);
    const bool is_coarse_noise = sure != NONE && difference <= 2 * MORE_TEXTURE * sure;
    const bool is_structure =
        !is_coarse_noise && block.structure >= block.variation * 3 / 4 && block.variation > LEAST_NOISE;
    return is_texture || (is_structure && difference > block.variation);
}

// The lower quartile of what blocks of so many samples tell that have white noise, of its mean, in 256ths.
static inline ulong quartile_of_white(uint samples)
{
    return samples <= 48 ? 209 : samples <= 96 ? 224 : 234;
}

__kernel void tell_luma(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                        __global const LumaError *luma_errors, __global const uint *of_other_light, __global ulong *told)
{
    const int at = (int)get_global_id(0), beside = (int)get_global_id(1), asked = asked_of(f, a);
    if (at >= asked || beside >= a.references)
        return;
    const int number = at * a.step, reference = a.reference[beside];
    const LumaError error = luma_errors[number_of(f, reference, number)];
    told[beside * asked + at] =
        noise_of_luma(luma_blocks[number], error, is_of_other_light(of_other_light, f, reference));
}

// What a group that sums up a frame shares.
typedef struct {
    ulong keys[MOST_SAMPLED];
    ulong parts[GROUP_SIZE];
    ushort before[SHADES_AND_ALL][GROUP_SIZE];
    ushort count[SHADES_AND_ALL];
    ulong chosen[SHADES_AND_ALL], noise[SHADES_AND_ALL];
    uchar is_wanted[MOST_SAMPLED];
} Summary;

// A sample's key: what it tells, its shade, and its number. What 64 samples of 16 bits tell has at most 42 bits.
static inline ulong key_of(ulong told, int shade, uint sample)
{
    return told == NONE ? NONE : (told * SHADES + (ulong)shade) * MOST_SAMPLED + sample;
}

static inline ulong told_of_key(ulong key)
{
    return key / (SHADES * MOST_SAMPLED);
}

static inline int shade_of_key(ulong key)
{
    return (int)(key / MOST_SAMPLED % SHADES);
}

static inline uint sample_of_key(ulong key)
{
    return (uint)(key % MOST_SAMPLED);
}

// The sum of what all items have.
static inline ulong sum_of(__local ulong *parts, ulong own)
{
    const uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    parts[item] = own;
    for (uint half_count = GROUP_SIZE / 2; half_count > 0; half_count /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_count)
            parts[item] += parts[item + half_count];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return parts[0];
}

// Sorts the first `count` keys; those behind them up to a power of two become NONE. A bitonic sort.
static inline void sort_keys(__local ulong *keys, uint count)
{
    const uint item = (uint)get_local_id(0);
    uint length = 1;
    while (length < count)
        length *= 2;
    for (uint i = count + item; i < length; i += GROUP_SIZE)
        keys[i] = NONE;
    for (uint span = 2; span <= length; span *= 2) {
        for (uint apart = span / 2; apart > 0; apart /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = item; i < length / 2; i += GROUP_SIZE) {
                const uint low = 2 * i - (i & (apart - 1));
                const ulong a = keys[low], b = keys[low + apart];
                if ((a > b) == ((low & span) == 0)) {
                    keys[low] = b;
                    keys[low + apart] = a;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Of the first `count` keys, which are sorted, chooses for each shade, and for all, the one of those wanted of which a quarter is
// less: what it tells becomes `chosen`, and how many are wanted `count`.
static inline void choose_quartiles(__local Summary *s, uint count)
{
    const uint item = (uint)get_local_id(0), together = (count + GROUP_SIZE - 1) / GROUP_SIZE;
    const uint first = min(item * together, count), end = min(first + together, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int shade = 0; shade <= ALL; ++shade)
        s->before[shade][item] = 0;
    for (uint i = first; i < end; ++i) {
        if (s->is_wanted[i]) {
            ++s->before[shade_of_key(s->keys[i])][item];
            ++s->before[ALL][item];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint shade = item; shade <= ALL; shade += GROUP_SIZE) {
        ushort sum = 0;
        for (uint i = 0; i < GROUP_SIZE; ++i) {
            const ushort of_item = s->before[shade][i];
            s->before[shade][i] = sum;
            sum += of_item;
        }
        s->count[shade] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first; i < end; ++i) {
        if (!s->is_wanted[i])
            continue;
        const ulong key = s->keys[i];
        const int shade = shade_of_key(key);
        if (s->before[shade][item]++ == s->count[shade] / 4)
            s->chosen[shade] = told_of_key(key);
        if (s->before[ALL][item]++ == s->count[ALL] / 4)
            s->chosen[ALL] = told_of_key(key);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Sets the noise of the frame by what was chosen.
static inline void set_noise(__local Summary *s, ulong quartile)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong all = s->count[ALL] > 0 ? s->chosen[ALL] * 256 / quartile : NONE;
    for (uint shade = (uint)get_local_id(0); shade <= ALL; shade += GROUP_SIZE) {
        const bool is_told = shade < ALL && s->count[shade] >= LEAST_OF_SHADE;
        const ulong noise = is_told ? min(s->chosen[shade] * 256 / quartile, MOST_OF_SHADE * or_else(all, 0)) : NONE;
        s->noise[shade] = shade == ALL ? all : noise;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// What is known of the blocks that tell of the frame as a whole.
typedef struct {
    __global const LumaBlock *blocks;
    __global const LumaError *errors;
    __global const ulong *told;
    uint apart;  // from one of them to the next, of those that are asked
    uint count;
    int step;
    bool flickers;
} Samples;

static inline Samples samples_of(FrameShape f, AskedBlocks a)
{
    const uint asked = (uint)asked_of(f, a);
    Samples s;
    s.apart = ((asked + MOST_SAMPLED - 1) / MOST_SAMPLED) | 1;
    s.count = (asked + s.apart - 1) / s.apart;
    s.step = a.step;
    return s;
}

static inline LumaBlock block_of_sample(Samples s, uint sample)
{
    return s.blocks[sample * s.apart * (uint)s.step];
}

static inline LumaError error_of_sample(Samples s, uint sample)
{
    return s.errors[sample * s.apart * (uint)s.step];
}

static inline ulong told_of_sample(Samples s, uint sample)
{
    return s.told[sample * s.apart];
}

__kernel FIXED_GROUP void sum_up_luma(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                                      __global const LumaError *luma_errors, __global const uint *of_other_light,
                                      __global const ulong *told, __global FrameTold *frames_told)
{
    __local Summary summary;
    __local Summary *s = &summary;
    const uint item = (uint)get_local_id(0);
    const int beside = (int)get_group_id(0), reference = a.reference[beside];
    Samples samples = samples_of(f, a);
    samples.blocks = luma_blocks;
    samples.errors = luma_errors + number_of(f, reference, 0);
    samples.told = told + beside * asked_of(f, a);
    samples.flickers = is_of_other_light(of_other_light, f, reference);
    const uint count = samples.count;

    ulong own_flat = 0, own_repeats = 0;
    for (uint i = item; i < count; i += GROUP_SIZE) {
        const LumaBlock block = block_of_sample(samples, i);
        const ulong noise = told_of_sample(samples, i);
        const bool is_flat = noise == NONE && is_flat_repeat(block, error_of_sample(samples, i));
        // Flat blocks near black and white are those of bars.
        const int shade = shade_of(block);
        own_flat += is_flat;
        own_repeats += noise == 0 || (is_flat && shade != 0 && shade != SHADES - 1);
    }
    const bool has_bars = BARS * sum_of(s->parts, own_flat) >= count;
    const bool is_clean = REPEATS * sum_of(s->parts, own_repeats) > count;

    // The structure of those that tell what counts, of which a quarter has less.
    ulong own_telling = 0;
    for (uint i = item; i < count; i += GROUP_SIZE) {
        const ulong noise = told_of_sample(samples, i);
        const bool counts = noise != NONE && (noise > 0 || !is_clean);
        own_telling += counts;
        s->is_wanted[i] = counts;
        s->keys[i] = counts ? block_of_sample(samples, i).structure : NONE;
    }
    const uint telling = (uint)sum_of(s->parts, own_telling);
    sort_keys(s->keys, count);
    ulong most = telling > 0 ? s->keys[telling / 4] : 0;
    ulong own_white = 0, own_variation = 0;
    for (uint i = item; i < count; i += GROUP_SIZE) {
        const LumaBlock block = block_of_sample(samples, i);
        if (s->is_wanted[i] && block.structure <= most) {
            own_white += block.variation - block.structure;
            own_variation += block.variation;
        }
    }
    const ulong smooth_white = sum_of(s->parts, own_white), smooth_variation = sum_of(s->parts, own_variation);
    const bool is_smooth = telling > 0 && WHITE_OF * smooth_white >= WHITE_PART * smooth_variation;
    most = is_smooth ? most : NONE;

    ulong own_all = 0, own_zero = 0;
    for (uint i = item; i < count; i += GROUP_SIZE) {
        const ulong noise = told_of_sample(samples, i);
        own_all += noise != NONE;
        own_zero += noise == 0;
        s->keys[i] = key_of(noise, shade_of(block_of_sample(samples, i)), i);
    }
    const uint all = (uint)sum_of(s->parts, own_all), zero = (uint)sum_of(s->parts, own_zero);
    sort_keys(s->keys, count);
    const bool is_even =
        all >= LEAST_OF_SHADE && told_of_key(s->keys[all * 15 / 16]) <= EVEN * told_of_key(s->keys[all / 4]);
    // Beside bars, or a slide, there may be noise.
    const uint first = is_clean ? zero : 0, rest = all - first;
    const bool are_noise =
        !is_clean || (rest >= LEAST_OF_SHADE &&
                      told_of_key(s->keys[first + rest / 2]) <= 2 * told_of_key(s->keys[first + rest / 4]));
    for (uint i = item; i < all; i += GROUP_SIZE)
        s->is_wanted[i] = i >= first && block_of_sample(samples, sample_of_key(s->keys[i])).structure <= most;
    choose_quartiles(s, all);
    set_noise(s, quartile_of_white(SAMPLES));
    if (!are_noise)
        for (uint shade = item; shade <= ALL; shade += GROUP_SIZE)
            s->noise[shade] = s->noise[shade] == NONE ? NONE : 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    // The part of the variation by which neighbouring samples differ in flat blocks, which have little but noise.
    const ulong most_of_flat = s->noise[ALL] == NONE ? 0 : 2 * s->noise[ALL];
    ulong own_count = 0;
    own_white = own_variation = 0;
    for (uint i = item; i < all; i += GROUP_SIZE) {
        const LumaBlock block = block_of_sample(samples, sample_of_key(s->keys[i]));
        if (block.variation <= most_of_flat) {
            ++own_count;
            own_white += block.variation - block.structure;
            own_variation += block.variation;
        }
    }
    const ulong flat = sum_of(s->parts, own_count), flat_white = sum_of(s->parts, own_white);
    const ulong flat_variation = sum_of(s->parts, own_variation);
    if (is_even && !is_smooth && 2 * flat >= all && flat_variation > 0)
        set_noise(s, min(64 + 256 * flat_white / flat_variation * 5 / 4, quartile_of_white(SAMPLES)));

    for (uint i = item; i < all; i += GROUP_SIZE) {
        const ulong key = s->keys[i];
        const uint sample = sample_of_key(key);
        const ulong difference = difference_of(error_of_sample(samples, sample), samples.flickers);
        s->is_wanted[i] = told_of_key(key) > 0 && is_found(block_of_sample(samples, sample), difference);
    }
    choose_quartiles(s, all);
    ulong sure = is_even ? s->noise[ALL] : NONE;
    if (s->count[ALL] >= LEAST_OF_AREA)
        sure = s->chosen[ALL] * 256 / quartile_of_white(SAMPLES);

    ulong own_lost = 0;
    for (uint i = item; i < all; i += GROUP_SIZE) {
        const ulong key = s->keys[i];
        const uint sample = sample_of_key(key);
        const ulong noise = or_else(or_else(s->noise[shade_of_key(key)], s->noise[ALL]), 0);
        const ulong difference = difference_of(error_of_sample(samples, sample), samples.flickers);
        own_lost += is_lost(block_of_sample(samples, sample), noise, sure, difference);
    }
    const ulong lost = sum_of(s->parts, own_lost), most_all = max(all, 1u);
    if (item == 0) {
        __global FrameTold *frame = frames_told + beside;
        for (int shade = 0; shade <= ALL; ++shade)
            frame->noise[shade] = s->noise[shade];
        frame->sure = sure;
        frame->trust = (uint)min((ulong)TRUST, TRUST * sub_sat(4 * (ulong)all, 16 * lost) / most_all);
        frame->lost = (uint)(256 * lost / most_all);
        frame->is_clean = is_clean;
        frame->has_bars = has_bars;
    }
}

__kernel FIXED_GROUP void sum_up_chroma(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                                        __global const ulong *told, __global FrameTold *frames_told)
{
    __local Summary summary;
    __local Summary *s = &summary;
    const uint item = (uint)get_local_id(0);
    const int beside = (int)get_group_id(0);
    Samples samples = samples_of(f, a);
    samples.blocks = luma_blocks;
    samples.told = told + (BESIDE + beside) * asked_of(f, a);
    ulong own_all = 0;
    for (uint i = item; i < samples.count; i += GROUP_SIZE) {
        const ulong noise = told_of_sample(samples, i);
        own_all += noise != NONE;
        s->keys[i] = key_of(noise, shade_of(block_of_sample(samples, i)), i);
        s->is_wanted[i] = 1;
    }
    const uint all = (uint)sum_of(s->parts, own_all);
    sort_keys(s->keys, samples.count);
    choose_quartiles(s, all);
    set_noise(s, quartile_of_white((uint)a.chroma_samples));
    if (item == 0) {
        __global FrameTold *frame = frames_told + BESIDE + beside;
        for (int shade = 0; shade <= ALL; ++shade)
            frame->noise[shade] = s->noise[shade];
        frame->trust = frames_told[beside].trust;
    }
}

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
            const ulong most = samples <= 48 ? noise * 3 / 2 : noise * 4 / 3;
            const ulong little = noise_of_shade(of_frame, shade) * trust / TRUST / LITTLE;
            if (area.told[i] > max(most, little))
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
    const ulong lost_before = a.is_first ? 0 : before[0], lost_after = a.is_first ? 0 : before[1];
    const ulong lost = a.previous >= 0 ? frames_told[a.previous].lost : lost_after;
    const bool is_forgotten = a.is_first || lost > max((ulong)LOST_OF_SCENE, MORE_LOST * lost_before);
    if (area == 0) {
        after[0] = lost;
        after[1] = a.next >= 0 ? frames_told[a.next].lost : 0;
    }
    ulong of_frame[SHADES_AND_ALL], of_area[SHADES_AND_ALL];
    frame_noise(a, frames_told + is_chroma * BESIDE, of_frame);
    const int first = 2 + (is_chroma * areas + area) * SHADES_AND_ALL;
    for (int shade = 0; shade <= ALL; ++shade) {
        ulong told = NONE, noise = is_forgotten ? NONE : before[first + shade];
        for (int i = 0; i < a.references; ++i)
            told = min(told, areas_told[(i * areas + area) * SHADES_AND_ALL + shade]);
        if (told != NONE) {
            noise = or_else(noise, told);
            noise = noise + sub_sat(told, noise) / RISE - sub_sat(noise, told) / FALL;
        }
        of_area[shade] = after[first + shade] = noise;
    }
    for (int shade = 0; shade < SHADES; ++shade) {
        const ulong noise = or_else(of_area[shade], of_area[ALL]), all = noise_of_shade(of_frame, shade);
        const bool is_own = noise != NONE && (LITTLE * noise < all || noise > MORE_NOISE * all);
        own[area * SHADES + shade] = is_own ? noise : NONE;
    }
}

// The noise of block (column, row), whose shade it has, and of whose variation `white` is that of differences of neighbours. `told`
// is that of luma, or that of chroma, as are `frames_told` and `own`.
static inline ulong noise_of_block(FrameShape f, AskedBlocks a, int2 block, int shade, ulong white,
                                   __global const ulong *told, __global const FrameTold *frames_told,
                                   __global const ulong *own)
{
    ulong of_frame[SHADES_AND_ALL];
    frame_noise(a, frames_told, of_frame);
    const int2 area = block * (int2)(a.columns, a.rows) / (int2)(f.columns, f.rows);
    const int2 from = max(area - 1, (int2)0), to = min(area + 1, (int2)(a.columns, a.rows) - 1);
    const ulong known = or_else(own[(area.y * a.columns + area.x) * SHADES + shade], noise_of_shade(of_frame, shade));
    ulong least = NONE;
    for (int i = 0; i < a.references; ++i)
        least = min(least, told[i * asked_of(f, a) + (block.y * f.columns + block.x) / a.step]);
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

// Whether flat blocks of this shade are those of bars.
static inline bool are_bars(AskedBlocks a, __global const FrameTold *frames_told, int shade)
{
    bool are_bars = shade == 0 || is_clean_frame(a, frames_told);
    for (int i = 0; i < a.references; ++i)
        are_bars = are_bars || frames_told[i].has_bars;
    return are_bars;
}

__kernel void luma_noise(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks, __global const ulong *told,
                         __global const FrameTold *frames_told, __global const ulong *own, __global BlockNoise *noise)
{
    const int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    if (at.x >= f.columns || at.y >= f.rows)
        return;
    const int number = at.y * f.columns + at.x;
    const LumaBlock block = luma_blocks[number];
    const int shade = shade_of(block);
    ulong known = noise_of_block(f, a, at, shade, block.variation - block.structure, told, frames_told, own);
    if (is_clean_frame(a, frames_told) && is_coding(known, 0))
        known = 0;
    // A block of a bar has none: between samples the picture beside it would be mixed into it.
    const bool is_bar = block.variation == 0 && are_bars(a, frames_told, shade);
    noise[number].luma = is_bar ? 0 : worthwhile(with_clipping(known, block));
    noise[number].chroma = 0;
}

__kernel void tell_chroma(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                          __global const ChromaBlock *chroma_blocks, __global const ChromaError *chroma_errors,
                          __global const BlockNoise *noise, __global ulong *told)
{
    const int at = (int)get_global_id(0), beside = (int)get_global_id(1), asked = asked_of(f, a);
    if (at >= asked || beside >= a.references)
        return;
    const int number = at * a.step;
    const ulong by_luma = told[beside * asked + at];
    // Where its luma is found.
    const bool tells =
        is_whole(luma_blocks[number]) && (by_luma == NONE || by_luma <= 2 * max(noise[number].luma, LEAST_NOISE));
    const ChromaError error = chroma_errors[number_of(f, a.reference[beside], number)];
    told[(BESIDE + beside) * asked + at] = tells ? noise_of_chroma(chroma_blocks[number], error) : NONE;
}

__kernel void chroma_noise(FrameShape f, AskedBlocks a, __global const LumaBlock *luma_blocks,
                           __global const ChromaBlock *chroma_blocks, __global const ulong *told,
                           __global const FrameTold *frames_told, __global const ulong *own, __global BlockNoise *noise)
{
    const int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    if (at.x >= f.columns || at.y >= f.rows)
        return;
    const int number = at.y * f.columns + at.x;
    const LumaBlock block = luma_blocks[number];
    const int shade = shade_of(block);
    ulong known =
        noise_of_block(f, a, at, shade, NONE, told + BESIDE * asked_of(f, a), frames_told + BESIDE, own);
    if (is_clean_frame(a, frames_told) && is_coding(noise[number].luma, known))
        known = 0;
    const bool are_flat = block.variation == 0 && chroma_blocks[number].variation == 0;
    noise[number].chroma = are_flat && are_bars(a, frames_told, shade) ? 0 : worthwhile(known);
}

// The noise of the blocks of a frame whose noise is known. Flat blocks have none.
__kernel void known_noise(FrameShape f, ulong known, int has_chroma, __global const LumaBlock *luma_blocks,
                          __global const ChromaBlock *chroma_blocks, __global BlockNoise *noise)
{
    const int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    if (at.x >= f.columns || at.y >= f.rows)
        return;
    const int number = at.y * f.columns + at.x;
    const LumaBlock block = luma_blocks[number];
    const bool is_flat = block.variation == 0;
    noise[number].luma = is_flat ? 0 : worthwhile(with_clipping(known, block));
    const bool has_none = !has_chroma || (is_flat && chroma_blocks[number].variation == 0);
    noise[number].chroma = has_none ? 0 : worthwhile(known);
}
