/* An OpenCL layer over the installed drivers that lets chosen calls fail, come late, or never end. The ICD loader
 * loads it where OPENCL_LAYERS names the built library.
 *
 * A fault is "KIND FUNCTION NUMBER [VALUE [DEVICE]]", in the environment variable FAULT or by fault_set(): call
 * NUMBER, from 0, of FUNCTION, or of all functions if that is "*", counted since the fault was set. With DEVICE, an
 * index into all devices of all platforms, only calls on that device count, and are noted. Kinds:
 *   fail   the call returns VALUE, or CL_OUT_OF_RESOURCES, and nothing is done; a release is done all the same
 *   lose   this call and all later ones fail so
 *   delay  the call takes VALUE milliseconds longer
 *   block  the call does not return before another fault is set
 *   stall  the call returns, but its command does not begin before another fault is set; a call that queues no
 *          command blocks
 *   abort  the call returns, and its command fails with VALUE; a call that queues no command fails
 * With the environment variable FAULT_GPU every device says that it is a GPU. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define _GNU_SOURCE
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { NONE, FAIL, LOSE, DELAY, BLOCK, STALL, ABORT };

/* In the order of `enum kind`. */
static const char *const KINDS[] = { "none", "fail", "lose", "delay", "block", "stall", "abort" };

#define MOST_CALLS 100000
#define MOST_GATES 1000
#define MOST_DEVICES 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* All of it belongs to `lock`. */
static struct
{
  enum kind kind;
  char function[64];
  long number;
  int value, device;
  /* How often another fault was set. */
  unsigned long turn;
  /* The number of calls that may be the chosen one. */
  long counted;
  long fired, first_fired;
  /* The names of the calls on the device, or on all. */
  const char *calls[MOST_CALLS];
  size_t made;
  /* Objects that were made and not released. */
  long live;
  /* What commands with a fault wait for. */
  cl_event gates[MOST_GATES];
  size_t gate_count;
} state;

static const cl_icd_dispatch *driver;

/* Sets another fault, or none if `text` is empty or of the kind "none": what was held up goes on. Returns 0 if `text` is wrong. */
int
fault_set (const char *text)
{
  char kind[16] = "none", function[64] = "";
  long number = 0;
  int value = CL_OUT_OF_RESOURCES, device = -1;
  int fields = sscanf (text, "%15s %63s %ld %d %d", kind, function, &number, &value, &device);
  cl_event gates[MOST_GATES];
  size_t gate_count, found = 0;

  while (found <= ABORT && strcmp (KINDS[found], kind) != 0)
    found++;
  if (found > ABORT || (found != NONE && fields < 3))
    return 0;
  pthread_mutex_lock (&lock);
  state.kind = (enum kind) found;
  strcpy (state.function, function);
  state.number = number;
  state.value = value;
  state.device = device;
  state.turn++;
  state.counted = state.fired = 0;
  state.made = 0;
  gate_count = state.gate_count;
  memcpy (gates, state.gates, gate_count * sizeof *gates);
  state.gate_count = 0;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
  /* Without the lock: a driver may call back from here. */
  for (size_t i = 0; i < gate_count; i++) {
    driver->clSetUserEventStatus (gates[i], CL_COMPLETE);
    driver->clReleaseEvent (gates[i]);
  }
  return 1;
}

/* How many calls had the fault since it was set; `first` is set to the number of the first of them among those that count. */
long
fault_fired (long *first)
{
  pthread_mutex_lock (&lock);
  long fired = state.fired;
  *first = state.first_fired;
  pthread_mutex_unlock (&lock);
  return fired;
}

/* The objects that were made and not released since the layer was loaded. */
long
fault_live (void)
{
  pthread_mutex_lock (&lock);
  long live = state.live;
  pthread_mutex_unlock (&lock);
  return live;
}

/* The function of call `number` since the fault was set; NULL if there were fewer calls. */
const char *
fault_call (size_t number)
{
  pthread_mutex_lock (&lock);
  const char *name = number < state.made && number < MOST_CALLS ? state.calls[number] : NULL;
  pthread_mutex_unlock (&lock);
  return name;
}

/* How many of all devices come before `device`; -1 if it is none of them. */
static int
index_of (cl_device_id device)
{
  cl_platform_id platforms[MOST_DEVICES];
  cl_device_id devices[MOST_DEVICES];
  cl_uint count = 0;
  int before = 0;

  if (device == NULL || driver->clGetPlatformIDs (MOST_DEVICES, platforms, &count) != CL_SUCCESS)
    return -1;
  for (cl_uint p = 0; p < count && p < MOST_DEVICES; p++) {
    cl_uint found = 0;
    driver->clGetDeviceIDs (platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &found);
    for (cl_uint d = 0; d < found && d < MOST_DEVICES; d++, before++)
      if (devices[d] == device)
        return before;
  }
  return -1;
}

/* The device of a call, from what it is called with; contexts here have one device each. */
static cl_device_id
of_context (cl_context context)
{
  cl_device_id devices[MOST_DEVICES] = { NULL };
  driver->clGetContextInfo (context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL);
  return devices[0];
}

static cl_device_id
of_queue (cl_command_queue queue)
{
  cl_device_id device = NULL;
  driver->clGetCommandQueueInfo (queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  return device;
}

#define OF_OBJECT(kind, type, info, property)                           \
  static cl_device_id                                                   \
  of_##kind (type object)                                               \
  {                                                                     \
    cl_context context = NULL;                                          \
    driver->info (object, property, sizeof context, &context, NULL);    \
    return of_context (context);                                        \
  }
OF_OBJECT (memory, cl_mem, clGetMemObjectInfo, CL_MEM_CONTEXT)
OF_OBJECT (program, cl_program, clGetProgramInfo, CL_PROGRAM_CONTEXT)
OF_OBJECT (kernel, cl_kernel, clGetKernelInfo, CL_KERNEL_CONTEXT)
OF_OBJECT (event, cl_event, clGetEventInfo, CL_EVENT_CONTEXT)

/* Counts a call, and returns its fault: FAIL, STALL, ABORT or NONE. `value` is set to the error. `queues`: whether
 * the call returns while the device works. */
static enum kind
begin_call (const char *function, cl_device_id device, int queues, int *value)
{
  pthread_mutex_lock (&lock);
  int is_on_device = state.device < 0 || index_of (device) == state.device;
  if (is_on_device && state.made < MOST_CALLS)
    state.calls[state.made] = function;
  if (is_on_device)
    state.made++;
  enum kind kind = NONE;
  int is_named = strcmp (state.function, "*") == 0 || strcmp (state.function, function) == 0;
  int is_counted = is_on_device && is_named && state.kind != NONE;
  if (is_counted && state.counted++ == state.number)
    kind = state.kind;
  if (is_on_device && state.kind == LOSE && (kind == LOSE || state.fired > 0))
    kind = FAIL;
  if (kind != NONE && state.fired++ == 0)
    state.first_fired = (long) state.made - 1;
  *value = state.value;
  if (!queues && kind == STALL)
    kind = BLOCK;
  if (!queues && kind == ABORT)
    kind = FAIL;
  for (unsigned long turn = state.turn; kind == BLOCK && turn == state.turn;)
    pthread_cond_wait (&changed, &lock);
  pthread_mutex_unlock (&lock);
  if (kind == DELAY)
    usleep (1000 * (useconds_t) *value);
  return kind == BLOCK || kind == DELAY ? NONE : kind;
}

static void
count_live (long change)
{
  pthread_mutex_lock (&lock);
  state.live += change;
  pthread_mutex_unlock (&lock);
}

/* An event that a command can wait for, done when another fault is set. */
static cl_event
gate (cl_command_queue queue)
{
  cl_context context = NULL;
  driver->clGetCommandQueueInfo (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  cl_event event = driver->clCreateUserEvent (context, NULL);
  pthread_mutex_lock (&lock);
  if (state.gate_count == MOST_GATES)
    abort ();
  state.gates[state.gate_count++] = event;
  pthread_mutex_unlock (&lock);
  return event;
}

/* Waits for all that a command would wait for: PoCL 3.1 crashes if it fails before. */
static void
finish_before (cl_command_queue queue, cl_uint waits, const cl_event *wait)
{
  driver->clFinish (queue);
  if (waits > 0)
    driver->clWaitForEvents (waits, wait);
}

/* Whether a command that waits for these events fails by them. PoCL 3.1 never begins one that is queued after the event
 * failed, so the layer does what the standard says. */
static int
any_failed (cl_uint waits, const cl_event *wait)
{
  cl_int status = CL_COMPLETE;

  for (cl_uint i = 0; i < waits && status >= 0; i++)
    driver->clGetEventInfo (wait[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  return status < 0;
}

/* A call that makes nothing. */
#define RETURNS(name, device, parameters, arguments)                    \
  static cl_int CL_API_CALL                                             \
  layer_##name parameters                                               \
  {                                                                     \
    int value;                                                          \
    return begin_call (#name, device, 0, &value) == FAIL ? value        \
        : driver->name arguments;                                       \
  }

/* A call that releases an object. */
#define RELEASES(name, device, type)                                    \
  static cl_int CL_API_CALL                                             \
  layer_##name (type object)                                            \
  {                                                                     \
    int value;                                                          \
    enum kind kind = begin_call (#name, device, 0, &value);             \
    count_live (-1);                                                    \
    cl_int code = driver->name (object);                                \
    return kind == FAIL ? value : code;                                 \
  }

/* A call that makes an object, with an error code as its last parameter. */
#define MAKES(type, name, device, parameters, arguments)                \
  static type CL_API_CALL                                               \
  layer_##name parameters                                               \
  {                                                                     \
    int value;                                                          \
    cl_int unused;                                                      \
    code = code ? code : &unused;                                       \
    if (begin_call (#name, device, 0, &value) == FAIL) {                \
      *code = value;                                                    \
      return NULL;                                                      \
    }                                                                   \
    type made = driver->name arguments;                                 \
    count_live (made != NULL);                                          \
    return made;                                                        \
  }

/* In a call that queues a command: lets it wait for `gate` too where it has such a fault. `returns` says whether the
 * call returns before the command is done, `failure` what it returns if it fails. */
#define WAIT_LIST(name, returns, failure)                               \
  int value;                                                            \
  enum kind kind = begin_call (#name, of_queue (queue), returns, &value); \
  if (kind == FAIL)                                                     \
    return failure;                                                     \
  cl_event with_gate[waits + 1];                                        \
  if (kind == NONE && any_failed (waits, wait)) {                       \
    kind = ABORT;                                                       \
    value = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;               \
    waits = 0;                                                          \
  }                                                                     \
  if (kind == STALL || kind == ABORT) {                                 \
    if (kind == ABORT)                                                  \
      finish_before (queue, waits, wait);                               \
    if (waits > 0)                                                      \
      memcpy (with_gate, wait, waits * sizeof *wait);                   \
    with_gate[waits++] = gate (queue);                     \
    wait = with_gate;                                                   \
  }

/* When the command is queued: PoCL never begins one that waits for an event that failed before. */
#define QUEUED                                                          \
  if (kind == ABORT)                                                    \
    driver->clSetUserEventStatus (wait[waits - 1], value);

/* A call that queues a command, with a wait list and an event as its last parameters. */
#define QUEUES(name, returns, parameters, arguments)                             \
  static cl_int CL_API_CALL                                             \
  layer_##name parameters                                               \
  {                                                                     \
    WAIT_LIST (name, returns, value)                                             \
    cl_int code = driver->name arguments;                               \
    QUEUED                                                              \
    count_live (code == CL_SUCCESS && event != NULL);                   \
    return code;                                                        \
  }

#define WAITS cl_uint waits, const cl_event *wait, cl_event *event

RETURNS (clGetPlatformIDs, NULL, (cl_uint most, cl_platform_id *ids, cl_uint *count), (most, ids, count))
RETURNS (clGetPlatformInfo, NULL,
    (cl_platform_id platform, cl_platform_info info, size_t size, void *to, size_t *written),
    (platform, info, size, to, written))
RETURNS (clGetDeviceIDs, NULL,
    (cl_platform_id platform, cl_device_type type, cl_uint most, cl_device_id *ids, cl_uint *count),
    (platform, type, most, ids, count))
static cl_int CL_API_CALL
layer_clGetDeviceInfo (cl_device_id device, cl_device_info info, size_t size, void *to, size_t *written)
{
  int value;
  if (begin_call ("clGetDeviceInfo", device, 0, &value) == FAIL)
    return value;
  cl_int code = driver->clGetDeviceInfo (device, info, size, to, written);
  if (info == CL_DEVICE_TYPE && code == CL_SUCCESS && to != NULL && getenv ("FAULT_GPU") != NULL)
    *(cl_device_type *) to = CL_DEVICE_TYPE_GPU;
  return code;
}

MAKES (cl_context, clCreateContext, count == 1 ? *devices : NULL,
    (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
     void (CL_CALLBACK *notify) (const char *, const void *, size_t, void *), void *data, cl_int *code),
    (properties, count, devices, notify, data, code))
MAKES (cl_command_queue, clCreateCommandQueue, device,
    (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
    (context, device, properties, code))
MAKES (cl_mem, clCreateBuffer, of_context (context),
    (cl_context context, cl_mem_flags flags, size_t size, void *data, cl_int *code),
    (context, flags, size, data, code))
MAKES (cl_program, clCreateProgramWithSource, of_context (context),
    (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code),
    (context, count, texts, lengths, code))
MAKES (cl_program, clCreateProgramWithBinary, of_context (context),
    (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
     const unsigned char **binaries, cl_int *status, cl_int *code),
    (context, count, devices, lengths, binaries, status, code))
RETURNS (clBuildProgram, of_program (program),
    (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
     void (CL_CALLBACK *notify) (cl_program, void *), void *data),
    (program, count, devices, options, notify, data))
RETURNS (clGetProgramInfo, of_program (program),
    (cl_program program, cl_program_info info, size_t size, void *to, size_t *written),
    (program, info, size, to, written))
RETURNS (clGetProgramBuildInfo, device,
    (cl_program program, cl_device_id device, cl_program_build_info info, size_t size, void *to, size_t *written),
    (program, device, info, size, to, written))
MAKES (cl_kernel, clCreateKernel, of_program (program), (cl_program program, const char *name, cl_int *code),
    (program, name, code))
RETURNS (clSetKernelArg, of_kernel (kernel), (cl_kernel kernel, cl_uint index, size_t size, const void *argument),
    (kernel, index, size, argument))
RETURNS (clGetKernelWorkGroupInfo, device,
    (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info info, size_t size, void *to, size_t *written),
    (kernel, device, info, size, to, written))
RETURNS (clFlush, of_queue (queue), (cl_command_queue queue), (queue))
RETURNS (clGetEventInfo, of_event (event),
    (cl_event event, cl_event_info info, size_t size, void *to, size_t *written), (event, info, size, to, written))
RETURNS (clGetEventProfilingInfo, of_event (event),
    (cl_event event, cl_profiling_info info, size_t size, void *to, size_t *written),
    (event, info, size, to, written))
RETURNS (clSetEventCallback, of_event (event),
    (cl_event event, cl_int type, void (CL_CALLBACK *notify) (cl_event, cl_int, void *), void *data),
    (event, type, notify, data))
static cl_int CL_API_CALL
layer_clRetainEvent (cl_event event)
{
  int value;
  begin_call ("clRetainEvent", of_event (event), 0, &value);
  count_live (1);
  return driver->clRetainEvent (event);
}

RELEASES (clReleaseContext, of_context (object), cl_context)
RELEASES (clReleaseCommandQueue, of_queue (object), cl_command_queue)
RELEASES (clReleaseMemObject, of_memory (object), cl_mem)
RELEASES (clReleaseProgram, of_program (object), cl_program)
RELEASES (clReleaseKernel, of_kernel (object), cl_kernel)
RELEASES (clReleaseEvent, of_event (object), cl_event)
QUEUES (clEnqueueNDRangeKernel, 1,
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
     const size_t *local, WAITS),
    (queue, kernel, dimensions, offset, global, local, waits, wait, event))
QUEUES (clEnqueueReadBuffer, !blocks,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t first, size_t size, void *data, WAITS),
    (queue, buffer, blocks, first, size, data, waits, wait, event))
QUEUES (clEnqueueWriteBuffer, !blocks,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t first, size_t size, const void *data, WAITS),
    (queue, buffer, blocks, first, size, data, waits, wait, event))
QUEUES (clEnqueueReadBufferRect, !blocks,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *from, const size_t *to,
     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *data, WAITS),
    (queue, buffer, blocks, from, to, region, row, slice, host_row, host_slice, data, waits, wait, event))
QUEUES (clEnqueueWriteBufferRect, !blocks,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *to, const size_t *from,
     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *data, WAITS),
    (queue, buffer, blocks, to, from, region, row, slice, host_row, host_slice, data, waits, wait, event))
QUEUES (clEnqueueUnmapMemObject, 1, (cl_command_queue queue, cl_mem buffer, void *start, WAITS),
    (queue, buffer, start, waits, wait, event))
QUEUES (clEnqueueMarkerWithWaitList, 1, (cl_command_queue queue, WAITS), (queue, waits, wait, event))
QUEUES (clEnqueueBarrierWithWaitList, 1, (cl_command_queue queue, WAITS), (queue, waits, wait, event))

static void *CL_API_CALL
layer_clEnqueueMapBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocks, cl_map_flags flags, size_t first,
    size_t size, WAITS, cl_int *code)
{
  cl_int unused;
  code = code ? code : &unused;
  WAIT_LIST (clEnqueueMapBuffer, !blocks, (*code = value, NULL))
  void *start = driver->clEnqueueMapBuffer (queue, buffer, blocks, flags, first, size, waits, wait, event, code);
  QUEUED
  count_live (*code == CL_SUCCESS && event != NULL);
  return start;
}

#define EACH_FUNCTION(x)                                                \
  x (clGetPlatformIDs) x (clGetPlatformInfo) x (clGetDeviceIDs)         \
  x (clGetDeviceInfo) x (clCreateContext) x (clCreateCommandQueue)      \
  x (clCreateBuffer) x (clCreateProgramWithSource)                      \
  x (clCreateProgramWithBinary) x (clBuildProgram) x (clGetProgramInfo) \
  x (clGetProgramBuildInfo) x (clCreateKernel) x (clSetKernelArg)       \
  x (clGetKernelWorkGroupInfo) x (clFlush) x (clGetEventInfo)           \
  x (clGetEventProfilingInfo) x (clSetEventCallback)                    \
  x (clReleaseContext) x (clReleaseCommandQueue) x (clReleaseMemObject) \
  x (clReleaseProgram) x (clReleaseKernel) x (clReleaseEvent)           \
  x (clRetainEvent)                                                     \
  x (clEnqueueNDRangeKernel) x (clEnqueueReadBuffer)                    \
  x (clEnqueueWriteBuffer) x (clEnqueueReadBufferRect)                  \
  x (clEnqueueWriteBufferRect) x (clEnqueueUnmapMemObject)              \
  x (clEnqueueMarkerWithWaitList) x (clEnqueueBarrierWithWaitList)      \
  x (clEnqueueMapBuffer)

/* The names of the functions that can have a fault, and NULL. */
const char *const fault_functions[] = {
#define NAME(function) #function,
  EACH_FUNCTION (NAME)
  NULL
};

CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo (cl_layer_info info, size_t size, void *to, size_t *written)
{
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const char *const name = "faults";
  const void *from = info == CL_LAYER_API_VERSION ? (const void *) &version : name;
  size_t needed = info == CL_LAYER_API_VERSION ? sizeof version : strlen (name) + 1;

  if ((info != CL_LAYER_API_VERSION && info != CL_LAYER_NAME) || (to != NULL && size < needed))
    return CL_INVALID_VALUE;
  if (to != NULL)
    memcpy (to, from, needed);
  if (written != NULL)
    *written = needed;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL
clInitLayer (cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
    const cl_icd_dispatch **layer_ret)
{
  static cl_icd_dispatch layer;
  const char *fault = getenv ("FAULT");

  if (entries < sizeof layer / sizeof layer.clGetPlatformIDs)
    return CL_INVALID_VALUE;
  driver = target;
  layer = *target;
#define TAKE(function) layer.function = layer_##function;
  EACH_FUNCTION (TAKE)
  if (fault != NULL && !fault_set (fault)) {
    fprintf (stderr, "FAULT=%s is wrong\n", fault);
    abort ();
  }
  *entries_ret = sizeof layer / sizeof layer.clGetPlatformIDs;
  *layer_ret = &layer;
  return CL_SUCCESS;
}
