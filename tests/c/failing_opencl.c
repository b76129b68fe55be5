/* An OpenCL whose device is lost in mid-stream: preloaded, it passes the calls below on until the one
 * that FAILING_CALL names was made FAILING_AFTER times; from then on each of them fails. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

static atomic_int made, lost;

/* Whether `name` fails now. */
static int
fails (const char *name)
{
  const char *call = getenv ("FAILING_CALL"), *after = getenv ("FAILING_AFTER");

  if (call != NULL && after != NULL && strcmp (call, name) == 0
      && atomic_fetch_add (&made, 1) >= atoi (after))
    atomic_store (&lost, 1);
  return atomic_load (&lost);
}

/* The loader is not in the scope that RTLD_NEXT looks through: the plugin brought it. */
static void *
real (const char *name)
{
  return dlsym (dlopen ("libOpenCL.so.1", RTLD_LAZY), name);
}

#define PASS_ON(name, parameters, arguments)                            \
  cl_int name parameters                                                \
  {                                                                     \
    static cl_int (*passed) parameters;                                 \
    if (fails (#name))                                                  \
      return CL_OUT_OF_RESOURCES;                                       \
    if (passed == NULL)                                                 \
      passed = (cl_int (*) parameters) real (#name);                    \
    return passed arguments;                                            \
  }

PASS_ON (clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer,
        cl_bool blocking, size_t offset, size_t size, const void *data,
        cl_uint waits, const cl_event * wait, cl_event * event),
    (queue, buffer, blocking, offset, size, data, waits, wait, event))

PASS_ON (clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer,
        cl_bool blocking, size_t offset, size_t size, void *data,
        cl_uint waits, const cl_event * wait, cl_event * event),
    (queue, buffer, blocking, offset, size, data, waits, wait, event))

PASS_ON (clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel,
        cl_uint dimensions, const size_t * offset, const size_t * global,
        const size_t * local, cl_uint waits, const cl_event * wait,
        cl_event * event), (queue, kernel, dimensions, offset, global, local,
        waits, wait, event))

PASS_ON (clWaitForEvents, (cl_uint count, const cl_event * events),
    (count, events))
