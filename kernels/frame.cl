// What is made of the samples of an uploaded frame. `extend` fills the margin around it with its edge samples, in the layout of
// common.cl; before it `normalise` or `narrow` change deep samples.
//
// The thesis adds its border of 16 bytes on the host (6.2.1). Here the device adds the margin, so that
// an upload carries each sample once and nothing else.
//
// An item of `extend` writes one word: first those of the rows above and below the frame, then those left
// and right of it. The frame itself, width x height samples, is there already and only read.

#include "common.cl"

__kernel void extend(__global uchar *frame, int width, int height, int padded_rows, Geometry g)
{
    // Words of a row, and those of them that are not wholly inside the frame.
    const int words = g.pitch / 4, beside = words - width / WORD_SAMPLES;
    const int outer = (padded_rows - height) * words, item = (int)get_global_id(0);
    if (item >= outer + height * beside)
        return;
    int row, word;
    if (item < outer) {
        row = item / words;
        word = item % words;
        row += row < g.top ? 0 : height;
    } else {
        row = g.top + (item - outer) / beside;
        word = (item - outer) % beside;
        word += 4 * word < g.left ? 0 : width / WORD_SAMPLES;
    }
    const int x = WORD_SAMPLES * (word - g.left / 4), last = width - 1;
    const size_t pitch = (size_t)g.pitch, inside = (size_t)clamp(row - g.top, 0, height - 1);
    __global const sample_t *line = sample_at(frame, g, 0, (int)inside);
    __global sample_t *target = (__global sample_t *)(frame + (size_t)row * pitch + (size_t)(4 * word));
    // A word may begin with the last samples of a row of the frame.
    const int kept = item < outer || x < 0 ? 0 : max(width - x, 0);
    if (kept == 0) {
#if SAMPLE_BITS == 8
        *(__global uchar4 *)target = (uchar4)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)],
                                              line[clamp(x + 2, 0, last)], line[clamp(x + 3, 0, last)]);
#else
        *(__global ushort2 *)target = (ushort2)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)]);
#endif
    } else {
        for (int i = kept; i < WORD_SAMPLES; ++i)
            target[i] = line[last];
    }
}

#if SAMPLE_BITS > 8
// Moves the samples of an uploaded frame `shift` bits down, and clears the bits above `peak`, the largest
// sample. An item does one sample.
__kernel void normalise(__global uchar *frame, int width, int height, int shift, int peak, Geometry g)
{
    const int item = (int)get_global_id(0);
    if (item >= width * height)
        return;
    __global sample_t *sample = (__global sample_t *)sample_at(frame, g, item % width, item / width);
    *sample = (sample_t)((*sample >> shift) & peak);
}
#endif

#if SAMPLE_BITS == 8
// Writes the eight bits of deep samples that are searched, of `rows` rows from row `first` on: what is above `black` without the
// `lower` lowest bits. The samples have `shift` bits below them and at most `peak`. An item does one sample.
__kernel void narrow(__global const ushort *deep, __global uchar *frame, int width, int first, int rows, int shift,
                     int peak, int black, int lower, Geometry g)
{
    const int item = (int)get_global_id(0);
    if (item >= width * rows)
        return;
    const int sample = (deep[item] >> shift) & peak;
    *(__global uchar *)sample_at(frame, g, item % width, first + item / width) =
        (uchar)clamp((sample - black) >> lower, 0, 255);
}
#endif
