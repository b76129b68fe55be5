// What the blocks of a frame tell of its noise in comparison with the frames beside it, and what that tells of the frame as a whole.
// Included by noise.cl, which says what these kernels read and write.

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
