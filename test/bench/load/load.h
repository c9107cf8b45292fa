// What both load generators share: time, connections on one epoll, the CPU time of a process, options.
// One thread and requests encoded beforehand, so that the broker is what is measured; the generator's own CPU
// time is reported all the same, because on a small machine it takes the broker's.
#ifndef LOAD_H
#define LOAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_SECONDS 120.0
#define STALL_SECONDS 20.0

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *reserve(void *memory, size_t bytes) {
  void *result = realloc(memory, bytes);
  if (result == NULL) fail("out of memory (%zu bytes)", bytes);
  return result;
}

// ---------------------------------------------------------------------------------------------- big endian

static void store_u16(uint8_t *at, uint32_t value) {
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

static void store_u32(uint8_t *at, uint32_t value) {
  store_u16(at, value >> 16);
  store_u16(at + 2, value & 0xffff);
}

static inline void store_u64(uint8_t *at, uint64_t value) {
  store_u32(at, (uint32_t)(value >> 32));
  store_u32(at + 4, (uint32_t)value);
}

static uint16_t load_u16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static uint32_t load_u32(const uint8_t *at) { return (uint32_t)load_u16(at) << 16 | load_u16(at + 2); }

static inline uint64_t load_u64(const uint8_t *at) { return (uint64_t)load_u32(at) << 32 | load_u32(at + 4); }

// --------------------------------------------------------------------------------------------- connections

typedef struct {
  int socket;
  bool wants_output;
  uint8_t *input;
  size_t input_length, input_capacity;
  uint8_t *output;
  size_t output_start, output_end, output_capacity;
} Connection;

static int poller = -1;

static void connection_open(Connection *connection, void *owner, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  connection->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->socket < 0) fail("socket: %s", strerror(errno));
  if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
    fail("connect to port %d: %s", port, strerror(errno));
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(connection->socket, F_SETFL, O_NONBLOCK);
  if (poller < 0) poller = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = owner};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->socket, &event);
}

// As many sockets as the system allows.
static inline void allow_many_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Room for `bytes` more of output; the caller writes there and then adds to output_end.
static uint8_t *connection_room(Connection *connection, size_t bytes) {
  if (connection->output_start == connection->output_end) connection->output_start = connection->output_end = 0;
  if (connection->output_end + bytes > connection->output_capacity) {
    connection->output_capacity = (connection->output_end + bytes) * 2;
    connection->output = reserve(connection->output, connection->output_capacity);
  }
  return connection->output + connection->output_end;
}

static void connection_put(Connection *connection, const uint8_t *bytes, size_t length) {
  memcpy(connection_room(connection, length), bytes, length);
  connection->output_end += length;
}

static size_t connection_pending(const Connection *connection) {
  return connection->output_end - connection->output_start;
}

static void connection_flush(Connection *connection, void *owner) {
  while (connection_pending(connection) > 0) {
    ssize_t written =
        write(connection->socket, connection->output + connection->output_start, connection_pending(connection));
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) fail("write: %s", strerror(errno));
    connection->output_start += (size_t)written;
  }
  bool wants_output = connection_pending(connection) > 0;
  if (wants_output == connection->wants_output) return;
  connection->wants_output = wants_output;
  struct epoll_event event = {.events = EPOLLIN | (wants_output ? EPOLLOUT : 0), .data.ptr = owner};
  epoll_ctl(poller, EPOLL_CTL_MOD, connection->socket, &event);
}

// Reads once. False when there was nothing.
static bool connection_fill(Connection *connection) {
  if (connection->input_capacity - connection->input_length < 256 * 1024) {
    connection->input_capacity = connection->input_capacity * 2 + 512 * 1024;
    connection->input = reserve(connection->input, connection->input_capacity);
  }
  ssize_t count = read(connection->socket, connection->input + connection->input_length,
                       connection->input_capacity - connection->input_length);
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) fail("read: %s", strerror(errno));
  if (count == 0) fail("the broker closed the connection");
  connection->input_length += (size_t)count;
  return true;
}

static void connection_consume(Connection *connection, size_t bytes) {
  connection->input_length -= bytes;
  memmove(connection->input, connection->input + bytes, connection->input_length);
}

// --------------------------------------------------------------------------------------------------- costs

typedef struct {
  double wall, own_cpu, broker_cpu;
} Costs;

// User and system seconds of a process; 0 without one.
static double process_cpu_seconds(int pid) {
  char path[64], text[1024];
  unsigned long user = 0, system = 0;
  if (pid <= 0) return 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  // The name in parentheses may hold anything; the fields after it are counted from its end.
  char *field = strrchr(text, ')');
  if (field == NULL) return 0;
  sscanf(field + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double process_resident_mib(int pid) {
  char path[64], line[256];
  long kib = 0;
  if (pid <= 0) return 0;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL && sscanf(line, "VmRSS: %ld", &kib) != 1) continue;
  fclose(file);
  return (double)kib / 1024;
}

static Costs costs_now(int broker_pid) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  return (Costs){.wall = now_seconds(), .own_cpu = own, .broker_cpu = process_cpu_seconds(broker_pid)};
}

static void print_costs(Costs start, Costs end, int broker_pid) {
  printf("\"seconds\":%.4f,\"loadCpuSeconds\":%.2f,\"brokerCpuSeconds\":%.2f,\"brokerResidentMiB\":%.0f",
         end.wall - start.wall, end.own_cpu - start.own_cpu, end.broker_cpu - start.broker_cpu,
         process_resident_mib(broker_pid));
}

// ------------------------------------------------------------------------------------------------ latencies

static double *latencies;
static size_t latency_count, latency_capacity;

static void latency_add(double seconds) {
  if (latency_count == latency_capacity) {
    latency_capacity = latency_capacity * 2 + 4096;
    latencies = reserve(latencies, latency_capacity * sizeof *latencies);
  }
  latencies[latency_count++] = seconds;
}

// What others send need not begin with a time: whatever is not of the last hour is none.
static inline bool is_stamp(double sent_at, double time) { return sent_at <= time && sent_at > time - 3600; }

static int latency_order(const void *left, const void *right) {
  double difference = *(const double *)left - *(const double *)right;
  return difference < 0 ? -1 : difference > 0;
}

static double latency_ms(double quantile) {
  return latency_count == 0 ? 0 : latencies[(size_t)(quantile * (double)(latency_count - 1))] * 1000;
}

static void print_latencies(void) {
  qsort(latencies, latency_count, sizeof *latencies, latency_order);
  printf("\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"p999Ms\":%.3f,\"maxMs\":%.3f", latency_ms(0.5), latency_ms(0.99),
         latency_ms(0.999), latency_ms(1));
}

// -------------------------------------------------------------------------------------------------- options

typedef struct {
  const char *name;
  long *number;
  const char **text;
} Option;

static void read_options(int count, char **arguments, const Option *options) {
  for (int i = 1; i < count; i += 2) {
    const Option *option = options;
    while (option->name != NULL && strcmp(option->name, arguments[i]) != 0) option++;
    if (option->name == NULL) fail("unknown option %s", arguments[i]);
    if (i + 1 == count) fail("%s needs a value", arguments[i]);
    if (option->text != NULL) {
      *option->text = arguments[i + 1];
      continue;
    }
    char *end;
    *option->number = strtol(arguments[i + 1], &end, 10);
    if (*end != 0 || end == arguments[i + 1]) fail("%s is not a number: %s", arguments[i], arguments[i + 1]);
  }
}

#endif
