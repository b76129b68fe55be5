// The record of a motion vector, and the median that predicts vectors.
//
// Written for OpenCL C 1.2, without extensions.

// A record of the metadata: x and y in quarter samples.
typedef struct {
    short x, y;
    uint cost;
} MotionVector;

// The median of three, component by component.
static inline short2 median(short2 a, short2 b, short2 c)
{
    return max(min(a, b), min(max(a, b), c));
}
