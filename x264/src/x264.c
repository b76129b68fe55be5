/* What Rust cannot do: macros, and lists of variable arguments. */
#include <stdarg.h>
#include <stdio.h>

#include "x264.h"

static motionx264_log target;

x264_t *motionx264_open(x264_param_t *parameters) {
  return x264_encoder_open(parameters);
}

static void format_message(void *sender, int level, const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  target(sender, level, text);
}

void motionx264_log_to(x264_param_t *parameters, const char *sender, motionx264_log log) {
  target = log;
  parameters->pf_log = format_message;
  parameters->p_log_private = (void *)sender;
  parameters->i_log_level = X264_LOG_DEBUG;
}
