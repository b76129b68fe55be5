// Fills the margin around an uploaded frame with its edge samples, in the layout of common.cl.
//
// The thesis adds its border of 16 bytes on the host (6.2.1). Here the device adds the margin, so that
// an upload carries each sample once and nothing else.
//
// An item writes one word, 4 samples: first those of the rows above and below the frame, then those left
// and right of it. The frame itself, width x height samples, is there already and only read.

#include "common.cl"

__kernel void extend(__global uchar *frame, int width, int height, int padded_rows, Geometry g)
{
    // Words of a row, and those of them that are not wholly inside the frame.
    const int words = g.pitch / 4, beside = words - width / 4;
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
        word += 4 * word < g.left ? 0 : width / 4;
    }
    const int x = 4 * word - g.left, last = width - 1;
    const size_t pitch = (size_t)g.pitch, inside = (size_t)clamp(row - g.top, 0, height - 1);
    __global const uchar *line = frame + ((size_t)g.top + inside) * pitch + (size_t)g.left;
    __global uchar *target = frame + (size_t)row * pitch + (size_t)(4 * word);
    // A word may begin with the last samples of a row of the frame.
    const int kept = item < outer || x < 0 ? 0 : max(width - x, 0);
    if (kept == 0) {
        *(__global uchar4 *)target = (uchar4)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)],
                                              line[clamp(x + 2, 0, last)], line[clamp(x + 3, 0, last)]);
    } else {
        for (int i = kept; i < 4; ++i)
            target[i] = line[last];
    }
}
