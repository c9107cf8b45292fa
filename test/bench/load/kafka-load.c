// Kafka load: Produce v7, Fetch v11 and single-record latency, one line of JSON as the result.
//
//   kafka-load --port N --topic T --mode produce|fetch|latency|once|paced|arrivals [--records N] [--seconds N]
//              [--size BYTES] [--batch RECORDS] [--connections N] [--in-flight N] [--acks -1|0|1]
//              [--rate RECORDS_PER_SECOND] [--laps N] [--max-bytes N] [--pid BROKER]
//
// produce   closed loop: each connection keeps --in-flight requests of --batch records of --size bytes going
// fetch     each connection reads partition 0 from offset 0 until it has seen --records, --laps times over
// once      one record at a time: the time from request to answer
// latency   single records at --rate by --connections producers in turn, and a long-polling consumer: the time from
//           produce to arrival, record by record
// paced     the producing half of latency; arrivals: the consuming half, of --records that anybody stamps so (the first
//           eight bytes of the value are the sender's CLOCK_MONOTONIC in seconds, a double; others are only counted). It
//           says `ready` first, and its clock starts with the first arrival.
//
// --seconds ends produce and once early, so that a slow broker is measured for as long as a fast one.
// Partition 0 of the topic is used; a topic that is missing is created by asking for its metadata.
// Build: cc -O2 -o kafka-load kafka-load.c
#define _GNU_SOURCE
#include "kafka-wire.h"
#include "load.h"

enum { API_PRODUCE = 0, API_FETCH = 1, API_METADATA = 3 };

static const char *topic = "bench", *mode = "produce";
static long port = 9092, records = 100000, size = 100, batch = 100, connections = 1, in_flight = 5, acks = -1,
            rate = 1000, laps = 1, max_bytes = 1 << 20, seconds_max = 100, broker_pid = 0;
static double stop_at;

typedef struct {
  Connection connection;
  long outstanding;
  bool consumes;
  uint64_t offset;
  long seen;
  double sent_at;
} Client;

// --------------------------------------------------------------------------------------------- encoding

static Writer produce_request;
static size_t batch_start, first_value_start;

// One Produce request, encoded once and sent again and again; only the latency mode changes its first value.
static void encode_produce(void) {
  produce_request.bytes = reserve(NULL, (size_t)batch * ((size_t)size + 32) + 1024);
  Writer *writer = &produce_request;
  write_header(writer, API_PRODUCE, 7);
  write_u16(writer, 0xffff);  // no transactional id
  write_u16(writer, (uint32_t)acks & 0xffff);
  write_u32(writer, 30000);  // timeout, ms
  write_u32(writer, 1);
  write_string(writer, topic);
  write_u32(writer, 1);
  write_u32(writer, 0);  // partition
  size_t length_at = writer->length;
  write_u32(writer, 0);

  batch_start = writer->length;
  uint64_t timestamp = (uint64_t)time(NULL) * 1000;
  write_u64(writer, 0);  // base offset
  write_u32(writer, 0);  // batch length, set below
  write_u32(writer, 0);  // partition leader epoch
  write_u8(writer, 2);   // magic
  write_u32(writer, 0);  // crc, set below
  write_u16(writer, 0);  // attributes
  write_u32(writer, (uint32_t)batch - 1);
  write_u64(writer, timestamp);
  write_u64(writer, timestamp);
  write_u64(writer, UINT64_MAX);  // producer id: none
  write_u16(writer, 0xffff);
  write_u32(writer, UINT32_MAX);
  write_u32(writer, (uint32_t)batch);
  for (long i = 0; i < batch; i++) {
    // attributes, timestamp delta, offset delta, key: null, value, no headers
    size_t body = 1 + 1 + varint_length(i) + 1 + varint_length(size) + (size_t)size + 1;
    write_varint(writer, (int64_t)body);
    write_u8(writer, 0);
    write_varint(writer, 0);
    write_varint(writer, i);
    write_varint(writer, -1);
    write_varint(writer, size);
    if (i == 0) first_value_start = writer->length;
    for (long k = 0; k < size; k++) write_u8(writer, (uint32_t)('a' + (i * 7 + k * 13) % 26));
    write_varint(writer, 0);
  }
  size_t batch_length = writer->length - batch_start;
  store_u32(writer->bytes + batch_start + 8, (uint32_t)batch_length - 12);
  store_u32(writer->bytes + batch_start + 17, crc32c(writer->bytes + batch_start + 21, batch_length - 21));
  store_u32(writer->bytes + length_at, (uint32_t)batch_length);
  finish_request(writer);
}

static void send_produce(Client *client) {
  connection_put(&client->connection, produce_request.bytes, produce_request.length);
  client->outstanding++;
}

static void stamp_produce(void) {
  double time = now_seconds();
  memcpy(produce_request.bytes + first_value_start, &time, sizeof time);
  uint8_t *covered = produce_request.bytes + batch_start + 21;
  store_u32(covered - 4, crc32c(covered, produce_request.length - batch_start - 21));
}

static void send_fetch(Client *client) {
  uint8_t bytes[512];
  Writer writer = {.bytes = bytes};
  write_header(&writer, API_FETCH, 11);
  write_u32(&writer, UINT32_MAX);  // replica: a consumer
  write_u32(&writer, 500);         // wait at most, ms
  write_u32(&writer, 1);           // for at least one byte
  write_u32(&writer, 50 << 20);
  write_u8(&writer, 0);  // read uncommitted
  write_u32(&writer, 0);
  write_u32(&writer, UINT32_MAX);  // no session
  write_u32(&writer, 1);
  write_string(&writer, topic);
  write_u32(&writer, 1);
  write_u32(&writer, 0);           // partition
  write_u32(&writer, UINT32_MAX);  // leader epoch: any
  write_u64(&writer, client->offset);
  write_u64(&writer, UINT64_MAX);  // log start: not a follower
  write_u32(&writer, (uint32_t)max_bytes);
  write_u32(&writer, 0);  // forgotten topics
  write_u16(&writer, 0);  // rack
  finish_request(&writer);
  connection_put(&client->connection, bytes, writer.length);
  connection_flush(&client->connection, client);
  client->outstanding++;
}

// --------------------------------------------------------------------------------------------- answers

static long acknowledged, fetched, fetched_bytes;
static bool is_stamped;
static Costs first_arrival;

static void read_produce_answer(const uint8_t *answer) {
  const uint8_t *at = answer + 4 + 4;  // correlation id, one topic
  at += 2 + load_u16(at) + 4 + 4;      // name, one partition, its index
  if (load_u16(at) != 0) fail("produce was refused with error %d", (int16_t)load_u16(at));
  acknowledged += batch;
}

// Each record of a batch by itself: a broker may put many that came one by one into one.
static void read_stamps(Client *client, const uint8_t *bytes) {
  const uint8_t *record = bytes + 61;
  double time = now_seconds(), sent_at;
  for (uint32_t count = load_u32(bytes + 57); count > 0; count--) {
    int64_t length = read_varint(&record);
    const uint8_t *at = record + 1;  // attributes
    record += length;
    read_varint(&at);  // time
    uint64_t offset = load_u64(bytes) + (uint64_t)read_varint(&at);
    int64_t key_length = read_varint(&at);
    if (key_length > 0) at += key_length;
    if (read_varint(&at) < 8 || offset < client->offset) continue;
    memcpy(&sent_at, at, sizeof sent_at);
    if (is_stamp(sent_at, time)) latency_add(time - sent_at);
  }
}

static void read_batch(Client *client, const uint8_t *bytes) {
  uint64_t next_offset = load_u64(bytes) + load_u32(bytes + 23) + 1;
  // A batch may start below the offset asked for: what lies below was counted before.
  if (next_offset <= client->offset) return;
  if (fetched == 0 && is_stamped) first_arrival = costs_now((int)broker_pid);
  client->seen += (long)(next_offset - client->offset);
  fetched += (long)(next_offset - client->offset);
  if (is_stamped) read_stamps(client, bytes);
  client->offset = next_offset;
}

static void read_fetch_answer(Client *client, const uint8_t *answer, size_t length) {
  const uint8_t *at = answer + 4 + 4;  // correlation id, throttle time
  if (load_u16(at) != 0) fail("fetch was refused with error %d", (int16_t)load_u16(at));
  at += 2 + 4;
  if (load_u32(at) == 0) return;
  at += 4;
  at += 2 + load_u16(at) + 4 + 4;  // name, one partition, its index
  if (load_u16(at) != 0) fail("fetch at %llu: error %d", (unsigned long long)client->offset, (int16_t)load_u16(at));
  at += 2 + 8 + 8 + 8;  // high watermark, last stable offset, log start
  int32_t aborted = (int32_t)load_u32(at);
  at += 4 + (aborted > 0 ? aborted * 16 : 0) + 4;  // and the preferred replica
  int32_t bytes = (int32_t)load_u32(at);
  at += 4;
  const uint8_t *end = at + (bytes > 0 ? bytes : 0);
  if (end > answer + length) fail("a fetch answer ends before its records do");
  fetched_bytes += end - at;
  // The last batch may be cut by the size limit.
  while (end - at >= 61 && (size_t)(end - at) >= 12 + (size_t)load_u32(at + 8)) {
    read_batch(client, at);
    at += 12 + load_u32(at + 8);
  }
}

static void read_answers(Client *client) {
  Connection *connection = &client->connection;
  size_t from = 0, length;
  const uint8_t *answer;
  while ((answer = next_answer(connection, from, &length)) != NULL) {
    client->outstanding--;
    if (client->consumes) read_fetch_answer(client, answer, length);
    else read_produce_answer(answer);
    from += 4 + length;
  }
  connection_consume(connection, from);
}

static bool topic_has_leader(Client *client) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_METADATA, 5);
  write_u32(&request, 1);
  write_string(&request, topic);
  write_u8(&request, 1);  // may create it
  const uint8_t *at = ask(&client->connection, client, &request) + 4 + 4;
  uint32_t brokers = load_u32(at);
  at += 4;
  for (; brokers > 0; brokers--) {
    at += 4;                                           // node id
    at += 2 + load_u16(at) + 4;                        // host, port
    at += 2 + (load_u16(at) == 0xffff ? 0 : load_u16(at));  // rack
  }
  at += 2 + (load_u16(at) == 0xffff ? 0 : load_u16(at)) + 4;  // cluster id, controller
  at += 4;                                                    // one topic
  if (load_u16(at) != 0) return false;
  at += 2;
  at += 2 + load_u16(at) + 1;  // name, internal
  return load_u32(at) >= 1 && load_u16(at + 4) == 0;
}

static void await_topic(Client *client) {
  double give_up_at = now_seconds() + STALL_SECONDS;
  // A leader that is known may not lead yet: it does when it answers.
  while (!topic_has_leader(client) || log_end(&client->connection, client, topic, 0) < 0) {
    if (now_seconds() > give_up_at) fail("topic %s does not become ready", topic);
    usleep(50000);
  }
}

// ------------------------------------------------------------------------------------------------ loads

static Client *clients;
static long client_count;
static long sent;

static void open_clients(long count) {
  client_count = count;
  clients = calloc((size_t)count, sizeof *clients);
  for (long i = 0; i < count; i++) connection_open(&clients[i].connection, &clients[i], (int)port);
}

static void send_more(void) {
  bool is_over = now_seconds() >= stop_at;
  if (is_over && sent < records) records = sent;
  for (long i = 0; i < client_count; i++) {
    Client *client = &clients[i];
    while (client->outstanding < in_flight && sent < records && !is_over && connection_pending(&client->connection) < 4 << 20) {
      send_produce(client);
      sent += batch;
      if (acks != 0) continue;
      client->outstanding--;
      acknowledged += batch;
    }
    connection_flush(&client->connection, client);
  }
}

// Waits for events and reads what came; `timeout_ms` is how long an idle loop waits.
static void poll_clients(int timeout_ms) {
  static double heard_at;
  struct epoll_event events[64];
  int count = epoll_wait(poller, events, 64, timeout_ms);
  double time = now_seconds();
  if (heard_at == 0 || count > 0) heard_at = time;
  if (time - heard_at > STALL_SECONDS) fail("nothing was heard for %.0f s", STALL_SECONDS);
  for (int i = 0; i < count; i++) {
    Client *client = events[i].data.ptr;
    if (events[i].events & EPOLLOUT) connection_flush(&client->connection, client);
    if (events[i].events & ~(uint32_t)EPOLLOUT && connection_fill(&client->connection)) read_answers(client);
  }
}

static long run_produce(void) {
  while (acknowledged < records) {
    send_more();
    if (acks != 0) poll_clients(1000);
  }
  return acknowledged;
}

static long run_fetch(void) {
  bool running = true;
  while (running) {
    running = false;
    for (long i = 0; i < client_count; i++) {
      if (clients[i].seen >= records * laps) continue;
      running = true;
      if (clients[i].outstanding == 0 && clients[i].offset >= (uint64_t)records) clients[i].offset = 0;
      if (clients[i].outstanding == 0) send_fetch(&clients[i]);
    }
    if (running) poll_clients(1000);
  }
  return fetched;
}

static long run_once(void) {
  Client *client = &clients[0];
  long done = 0;
  for (double sent_at = now_seconds(); done < records && sent_at < stop_at; done++) {
    send_produce(client);
    connection_flush(&client->connection, client);
    while (client->outstanding > 0) poll_clients(1000);
    double time = now_seconds();
    latency_add(time - sent_at);
    sent_at = time;
  }
  return done;
}

// Either half may be elsewhere: then there are no producers, or the consumer is NULL.
static long run_paced(long producers, Client *consumer) {
  double next_at = now_seconds();
  while (consumer != NULL ? fetched < records : acknowledged < records) {
    long first = sent;
    if (consumer != NULL && consumer->outstanding == 0) send_fetch(consumer);
    for (; producers > 0 && sent < records && next_at <= now_seconds(); sent++, next_at += 1.0 / (double)rate) {
      stamp_produce();
      send_produce(&clients[sent % producers]);
    }
    for (long i = 0; i < producers && first + i < sent; i++)
      connection_flush(&clients[(first + i) % producers].connection, &clients[(first + i) % producers]);
    poll_clients(1);
  }
  return records;
}

int main(int count, char **arguments) {
  const Option options[] = {
      {"--port", &port, NULL},           {"--topic", NULL, &topic},     {"--mode", NULL, &mode},
      {"--records", &records, NULL},     {"--size", &size, NULL},       {"--batch", &batch, NULL},
      {"--connections", &connections, NULL}, {"--in-flight", &in_flight, NULL}, {"--acks", &acks, NULL},
      {"--rate", &rate, NULL},           {"--max-bytes", &max_bytes, NULL}, {"--pid", &broker_pid, NULL},
      {"--seconds", &seconds_max, NULL}, {"--laps", &laps, NULL},
      {NULL, NULL, NULL},
  };
  read_options(count, arguments, options);
  bool produces = strcmp(mode, "produce") == 0, fetches = strcmp(mode, "fetch") == 0;
  bool once = strcmp(mode, "once") == 0, latency = strcmp(mode, "latency") == 0;
  bool paced = strcmp(mode, "paced") == 0, arrivals = strcmp(mode, "arrivals") == 0;
  if (!produces && !fetches && !once && !latency && !paced && !arrivals) fail("unknown mode %s", mode);
  if (records < 1 || size < 0 || size > 8 << 20 || batch < 1 || batch > 1 << 20 || connections < 1 || in_flight < 1 || rate < 1 ||
      laps < 1)
    fail("an option is out of range");
  is_stamped = latency || arrivals;
  if ((latency || paced) && size < 8) fail("latency needs records of 8 bytes or more");
  if (latency || paced || once) batch = 1;
  long producers = arrivals ? 0 : paced || latency ? connections : 1;
  if (!produces && !fetches) connections = producers + (latency || arrivals);

  alarm((unsigned)(DEADLINE_SECONDS + (paced || latency || arrivals ? (double)records / (double)rate : 0)));
  crc_prepare();
  encode_produce();
  open_clients(connections);
  await_topic(&clients[0]);
  for (long i = 0; i < client_count; i++) clients[i].consumes = fetches || arrivals || (latency && i == producers);
  Client *last = &clients[client_count - 1];
  if (is_stamped) last->offset = (uint64_t)log_end(&last->connection, last, topic, 0);
  if (arrivals) printf("ready\n"), fflush(stdout);

  Costs start = costs_now((int)broker_pid);
  stop_at = start.wall + (double)seconds_max;
  long done = produces  ? run_produce()
              : fetches ? run_fetch()
              : once    ? run_once()
                        : run_paced(producers, is_stamped ? last : NULL);
  Costs end = costs_now((int)broker_pid);
  if (arrivals) start = first_arrival;
  double seconds = end.wall - start.wall;
  double bytes = fetches ? (double)fetched_bytes : (double)done * (double)size;
  printf("{\"mode\":\"%s\",\"size\":%ld,\"batch\":%ld,\"connections\":%ld,\"inFlight\":%ld,\"acks\":%ld,", mode, size,
         batch, connections, in_flight, acks);
  printf("\"records\":%ld,\"recordsPerSecond\":%.0f,\"megabytesPerSecond\":%.1f,", done, (double)done / seconds,
         bytes / seconds / 1e6);
  print_costs(start, end, (int)broker_pid);
  if (latency_count > 0) printf(","), print_latencies();
  printf("}\n");
  return 0;
}
