// Motion vectors as they lie in memory, and the median that predicts them.
//
// Written for OpenCL C 1.2, without extensions.

// The record of the metadata: x and y in quarter samples.
typedef struct {
    short x, y;
    uint cost;
} MotionVector;

// The middle one of three, each component by itself.
static inline short2 median(short2 a, short2 b, short2 c)
{
    return max(min(a, b), min(max(a, b), c));
}
