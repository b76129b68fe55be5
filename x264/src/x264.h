/* What is bound: x264's header, and what x264.c adds to it. */
#include <stdint.h>
#include <x264.h>

/* The macro x264_encoder_open has the number of the version in its name. */
x264_t *motionx264_open(x264_param_t *parameters);

/* Takes x264's messages, formatted. */
typedef void (*motionx264_log)(const char *sender, int level, const char *text);

/* Sends the messages of the encoder that is opened with these parameters to `log`, with the name `sender`, which must live
 * as long as the encoder. */
void motionx264_log_to(x264_param_t *parameters, const char *sender, motionx264_log log);
