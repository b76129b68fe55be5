/* An OpenCL whose device is lost in mid-stream: preloaded, it passes the calls below on until the one
 * that FAILING_CALL names was made FAILING_AFTER times since the first frame came. From then on each
 * of them fails; or, where FAILING_HANGS is set, no command is ever done, and who waits or releases
 * waits for ever. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CL/cl.h>

static atomic_int begun, made, lost;

/* Whether the device is lost now that `name` is called. */
static int
is_lost (const char *name)
{
  const char *call = getenv ("FAILING_CALL"), *after = getenv ("FAILING_AFTER");

  if (strncmp (name, "clEnqueue", 9) == 0)
    atomic_store (&begun, 1);
  if (call != NULL && after != NULL && strcmp (call, name) == 0
      && atomic_load (&begun) && atomic_fetch_add (&made, 1) >= atoi (after))
    atomic_store (&lost, 1);
  return atomic_load (&lost);
}

static int
hangs (void)
{
  return getenv ("FAILING_HANGS") != NULL;
}

static int
fails (const char *name)
{
  return is_lost (name) && !hangs () && strncmp (name, "clRelease", 9) != 0;
}

/* Waits for ever where the device hangs. */
static void
wait_for_device (void)
{
  while (atomic_load (&lost) && hangs ())
    pause ();
}

/* The loader is not in the scope that RTLD_NEXT looks through: the plugin brought it. */
static void *
real (const char *name)
{
  return dlsym (dlopen ("libOpenCL.so.1", RTLD_LAZY), name);
}

static void CL_CALLBACK
ignore (cl_event event, cl_int status, void *data)
{
  (void) event;
  (void) status;
  (void) data;
}

/* `waits`: whether it returns only when the device has done something. */
#define PASS_ON(name, parameters, arguments, waits)                     \
  cl_int name parameters                                                \
  {                                                                     \
    static cl_int (*passed) parameters;                                 \
    if (fails (#name))                                                  \
      return CL_OUT_OF_RESOURCES;                                       \
    if (waits)                                                          \
      wait_for_device ();                                               \
    if (passed == NULL)                                                 \
      passed = (cl_int (*) parameters) real (#name);                    \
    return passed arguments;                                            \
  }

PASS_ON (clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer,
        cl_bool blocking, size_t offset, size_t size, const void *data,
        cl_uint waits, const cl_event * wait, cl_event * event),
    (queue, buffer, blocking, offset, size, data, waits, wait, event),
    blocking)

PASS_ON (clEnqueueWriteBufferRect, (cl_command_queue queue, cl_mem buffer,
        cl_bool blocking, const size_t * to, const size_t * from,
        const size_t * region, size_t row_pitch, size_t slice_pitch,
        size_t data_row_pitch, size_t data_slice_pitch, const void *data,
        cl_uint waits, const cl_event * wait, cl_event * event),
    (queue, buffer, blocking, to, from, region, row_pitch, slice_pitch,
        data_row_pitch, data_slice_pitch, data, waits, wait, event),
    blocking)

PASS_ON (clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer,
        cl_bool blocking, size_t offset, size_t size, void *data,
        cl_uint waits, const cl_event * wait, cl_event * event),
    (queue, buffer, blocking, offset, size, data, waits, wait, event),
    blocking)

PASS_ON (clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel,
        cl_uint dimensions, const size_t * offset, const size_t * global,
        const size_t * local, cl_uint waits, const cl_event * wait,
        cl_event * event), (queue, kernel, dimensions, offset, global, local,
        waits, wait, event), 0)

PASS_ON (clWaitForEvents, (cl_uint count, const cl_event * events),
    (count, events), 1)

PASS_ON (clFinish, (cl_command_queue queue), (queue), 1)

PASS_ON (clReleaseMemObject, (cl_mem memory), (memory), 1)

PASS_ON (clReleaseCommandQueue, (cl_command_queue queue), (queue), 1)

PASS_ON (clReleaseContext, (cl_context context), (context), 1)

/* A device that hangs calls nobody. */
PASS_ON (clSetEventCallback, (cl_event event, cl_int type,
        void (CL_CALLBACK * notify) (cl_event, cl_int, void *), void *data),
    (event, type, atomic_load (&lost) ? ignore : notify, data), 0)

cl_int
clGetEventInfo (cl_event event, cl_event_info info, size_t size, void *value,
    size_t *written)
{
  static cl_int (*passed) (cl_event, cl_event_info, size_t, void *, size_t *);
  cl_int code;

  if (fails ("clGetEventInfo"))
    return CL_OUT_OF_RESOURCES;
  if (passed == NULL)
    passed = real ("clGetEventInfo");
  code = passed (event, info, size, value, written);
  if (code == CL_SUCCESS && info == CL_EVENT_COMMAND_EXECUTION_STATUS
      && atomic_load (&lost))
    *(cl_int *) value = CL_RUNNING;
  return code;
}
