// Transaction load: one transaction after the other, each with a record in every partition of a topic that it makes, and a
// consumer of committed records beside it. One line of JSON as the result: how long the ends took.
//
//   transaction-load --port N --topic T [--until visible|answered] [--partitions N] [--records TRANSACTIONS]
//                    [--seconds N] [--size BYTES] [--pid BROKER]
//
// visible   from the request to end the transaction until the consumer has the record of every partition
// answered  until the request is answered: the decision stands
//
// Of either the next transaction begins when all of the last is visible. Requests are those of a client of KIP-890 (Produce
// 12 adds its partitions, EndTxn 5 raises the epoch). --seconds ends it early.
// Build: cc -O2 -o transaction-load transaction-load.c
#define _GNU_SOURCE
#include "kafka-wire.h"
#include "load.h"

enum {
  API_PRODUCE = 0,
  API_FETCH = 1,
  API_FIND_COORDINATOR = 10,
  API_CREATE_TOPICS = 19,
  API_INIT_PRODUCER_ID = 22,
  API_END_TXN = 26
};

enum {
  COORDINATOR_LOAD_IN_PROGRESS = 14,
  COORDINATOR_NOT_AVAILABLE = 15,
  NOT_COORDINATOR = 16,
  CONCURRENT_TRANSACTIONS = 51
};

static const char *topic = "bench", *until = "visible";
static long port = 9092, partitions = 50, transactions = 1000, size = 100, seconds_max = 100, broker_pid = 0;

typedef struct {
  Connection connection;
} Client;

static Client producer, consumer;
static uint64_t producer_id;
static uint32_t producer_epoch;
// Where the consumer is in each partition.
static uint64_t *positions;
// Records of the transaction under way that it has.
static long seen;

static void pause_seconds(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

static void write_uvarint(Writer *writer, uint64_t value) {
  for (; value >= 128; value >>= 7) write_u8(writer, (uint32_t)(value & 127) | 128);
  write_u8(writer, (uint32_t)value);
}

static void write_compact_string(Writer *writer, const char *text) {
  size_t length = strlen(text);
  write_uvarint(writer, length + 1);
  memcpy(writer->bytes + writer->length, text, length);
  writer->length += length;
}

static uint64_t read_uvarint(const uint8_t **at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

static void skip_tags(const uint8_t **at) {
  for (uint64_t count = read_uvarint(at); count > 0; count--) {
    read_uvarint(at);
    uint64_t length = read_uvarint(at);
    *at += length;
  }
}

// ------------------------------------------------------------------------------------------------ before

static const uint8_t *ask_producer(Writer *request) { return ask(&producer.connection, &producer, request); }

static void create_topic(void) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_CREATE_TOPICS, 4);
  write_u32(&request, 1);
  write_string(&request, topic);
  write_u32(&request, (uint32_t)partitions);
  write_u16(&request, 1);  // copies
  write_u32(&request, 0);  // assignments
  write_u32(&request, 0);  // configs
  write_u32(&request, 30000);
  write_u8(&request, 0);
  const uint8_t *at = ask_producer(&request) + 4 + 4 + 4;
  at += 2 + load_u16(at);
  if (load_u16(at) != 0) fail("topic %s is not created: error %d", topic, (int16_t)load_u16(at));
}

// Apache's broker makes the coordinator's topic when it is asked for one.
static bool coordinator_found(void) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_FIND_COORDINATOR, 1);
  write_string(&request, topic);
  write_u8(&request, 1);  // of transactions
  return load_u16(ask_producer(&request) + 4 + 4) == 0;
}

static bool producer_begun(void) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_INIT_PRODUCER_ID, 1);
  write_string(&request, topic);
  write_u32(&request, 60000);
  const uint8_t *at = ask_producer(&request) + 4 + 4;
  uint32_t error = load_u16(at);
  if (error == COORDINATOR_LOAD_IN_PROGRESS || error == COORDINATOR_NOT_AVAILABLE || error == NOT_COORDINATOR)
    return false;
  if (error != 0) fail("InitProducerId: error %d", (int16_t)error);
  producer_id = load_u64(at + 2);
  producer_epoch = load_u16(at + 2 + 8);
  return true;
}

static void await(bool (*holds)(void), const char *what) {
  double give_up_at = now_seconds() + STALL_SECONDS;
  while (!holds()) {
    if (now_seconds() > give_up_at) fail("%s", what);
    pause_seconds(0.05);
  }
}

static bool all_lead(void) {
  for (long partition = 0; partition < partitions; partition++)
    if (log_end(&producer.connection, &producer, topic, partition) < 0) return false;
  return true;
}

// --------------------------------------------------------------------------------------- a transaction

static void write_batch(Writer *writer) {
  size_t start = writer->length;
  uint64_t timestamp = (uint64_t)time(NULL) * 1000;
  size_t body = 1 + 1 + 1 + 1 + varint_length(size) + (size_t)size + 1;
  write_u64(writer, 0);     // base offset
  write_u32(writer, 0);     // batch length, set below
  write_u32(writer, 0);     // partition leader epoch
  write_u8(writer, 2);      // magic
  write_u32(writer, 0);     // crc, set below
  write_u16(writer, 0x10);  // transactional
  write_u32(writer, 0);     // last offset delta
  write_u64(writer, timestamp);
  write_u64(writer, timestamp);
  write_u64(writer, producer_id);
  write_u16(writer, producer_epoch);
  write_u32(writer, 0);  // sequence: each transaction has an epoch of its own
  write_u32(writer, 1);
  write_varint(writer, (int64_t)body);
  write_u8(writer, 0);
  write_varint(writer, 0);
  write_varint(writer, 0);
  write_varint(writer, -1);
  write_varint(writer, size);
  for (long i = 0; i < size; i++) write_u8(writer, (uint32_t)('a' + i % 26));
  write_varint(writer, 0);
  uint8_t *batch = writer->bytes + start;
  size_t length = writer->length - start;
  store_u32(batch + 8, (uint32_t)length - 12);
  store_u32(batch + 17, crc32c(batch + 21, length - 21));
}

static Writer produce_request;

static void encode_produce(void) {
  Writer *writer = &produce_request;
  writer->length = 0;
  write_header(writer, API_PRODUCE, 12);
  write_uvarint(writer, 0);  // tags of the header
  write_compact_string(writer, topic);
  write_u16(writer, 0xffff);  // acks: all
  write_u32(writer, 30000);
  write_uvarint(writer, 1 + 1);
  write_compact_string(writer, topic);
  write_uvarint(writer, (uint64_t)partitions + 1);
  size_t batch_bytes = 61 + 6 + varint_length(size) + (size_t)size + varint_length(6 + (int64_t)varint_length(size) + size) - 1;
  for (long partition = 0; partition < partitions; partition++) {
    write_u32(writer, (uint32_t)partition);
    write_uvarint(writer, batch_bytes + 1);
    size_t start = writer->length;
    write_batch(writer);
    if (writer->length - start != batch_bytes) fail("a batch has %zu bytes", writer->length - start);
    write_uvarint(writer, 0);
  }
  write_uvarint(writer, 0);
  write_uvarint(writer, 0);
}

// The first error of the answer, 0 = none.
static uint32_t produce_error(const uint8_t *answer) {
  const uint8_t *at = answer + 4;
  uint32_t error = 0;
  skip_tags(&at);
  read_uvarint(&at);  // one topic
  at += read_uvarint(&at) - 1;
  for (uint64_t count = read_uvarint(&at) - 1; count > 0; count--) {
    if (error == 0) error = load_u16(at + 4);
    at += 4 + 2 + 8 + 8 + 8;
    for (uint64_t faults = read_uvarint(&at); faults > 1; faults--) {
      at += 4;
      uint64_t length = read_uvarint(&at);
      at += length > 0 ? length - 1 : 0;
      skip_tags(&at);
    }
    uint64_t length = read_uvarint(&at);
    at += length > 0 ? length - 1 : 0;
    skip_tags(&at);
  }
  return error;
}

static void read_fetched(void);

// One request of the producer and its answer; what the consumer gets meanwhile is taken.
static const uint8_t *exchange(Writer *request) {
  size_t length;
  const uint8_t *answer;
  Connection *connection = &producer.connection;
  finish_request(request);
  connection_put(connection, request->bytes, request->length);
  connection_flush(connection, &producer);
  double give_up_at = now_seconds() + STALL_SECONDS;
  while ((answer = next_answer(connection, 0, &length)) == NULL) {
    struct epoll_event events[2];
    int count = epoll_wait(poller, events, 2, 1000);
    for (int i = 0; i < count; i++) {
      Client *client = events[i].data.ptr;
      if (events[i].events & EPOLLOUT) connection_flush(&client->connection, client);
      if (connection_fill(&client->connection) && client == &consumer) read_fetched();
    }
    if (now_seconds() > give_up_at) fail("no answer");
  }
  connection->input_length = 0;
  return answer;
}

static void produce(void) {
  encode_produce();
  for (;;) {
    uint32_t error = produce_error(exchange(&produce_request));
    if (error == 0) return;
    // Markers of the transaction before are on their way.
    if (error != CONCURRENT_TRANSACTIONS) fail("produce was refused with error %d", (int16_t)error);
    pause_seconds(0.001);
  }
}

static void end_transaction(void) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_END_TXN, 5);
  write_uvarint(&request, 0);
  write_compact_string(&request, topic);
  write_u64(&request, producer_id);
  write_u16(&request, producer_epoch);
  write_u8(&request, 1);  // commit
  write_uvarint(&request, 0);
  const uint8_t *at = exchange(&request) + 4;
  skip_tags(&at);
  at += 4;
  if (load_u16(at) != 0) fail("the transaction is not ended: error %d", (int16_t)load_u16(at));
  producer_id = load_u64(at + 2);
  producer_epoch = load_u16(at + 2 + 8);
}

// ----------------------------------------------------------------------------------------- the consumer

static Writer fetch_request;

static void send_fetch(void) {
  Writer *writer = &fetch_request;
  writer->length = 0;
  write_header(writer, API_FETCH, 11);
  write_u32(writer, UINT32_MAX);  // replica: a consumer
  write_u32(writer, 500);         // wait at most, ms
  write_u32(writer, 1);           // for at least one byte
  write_u32(writer, 50 << 20);
  write_u8(writer, 1);  // read committed
  write_u32(writer, 0);
  write_u32(writer, UINT32_MAX);  // no session
  write_u32(writer, 1);
  write_string(writer, topic);
  write_u32(writer, (uint32_t)partitions);
  for (long partition = 0; partition < partitions; partition++) {
    write_u32(writer, (uint32_t)partition);
    write_u32(writer, UINT32_MAX);  // leader epoch: any
    write_u64(writer, positions[partition]);
    write_u64(writer, UINT64_MAX);  // log start: not a follower
    write_u32(writer, 1 << 20);
  }
  write_u32(writer, 0);  // forgotten topics
  write_u16(writer, 0);  // rack
  finish_request(writer);
  connection_put(&consumer.connection, writer->bytes, writer->length);
  connection_flush(&consumer.connection, &consumer);
}

static const uint8_t *read_partition(const uint8_t *at) {
  long partition = (long)load_u32(at);
  if (partition >= partitions) fail("an answer has partition %ld", partition);
  at += 4;
  if (load_u16(at) != 0) fail("fetch of partition %ld: error %d", partition, (int16_t)load_u16(at));
  at += 2 + 8 + 8 + 8;  // high watermark, last stable offset, log start
  int32_t aborted = (int32_t)load_u32(at);
  at += 4 + (aborted > 0 ? aborted * 16 : 0) + 4;  // and the preferred replica
  int32_t bytes = (int32_t)load_u32(at);
  at += 4;
  const uint8_t *end = at + (bytes > 0 ? bytes : 0);
  while (end - at >= 61 && (size_t)(end - at) >= 12 + (size_t)load_u32(at + 8)) {
    uint64_t next = load_u64(at) + load_u32(at + 23) + 1;
    bool is_control = (load_u16(at + 21) & 0x20) != 0;
    if (next > positions[partition]) {
      positions[partition] = next;
      if (!is_control) seen++;
    }
    at += 12 + load_u32(at + 8);
  }
  return end;
}

static void read_fetched(void) {
  size_t length;
  const uint8_t *answer = next_answer(&consumer.connection, 0, &length);
  if (answer == NULL) return;
  const uint8_t *at = answer + 4 + 4;
  if (load_u16(at) != 0) fail("fetch was refused with error %d", (int16_t)load_u16(at));
  at += 2 + 4 + 4;  // session, one topic
  at += 2 + load_u16(at);
  uint32_t count = load_u32(at);
  at += 4;
  for (; count > 0; count--) at = read_partition(at);
  connection_consume(&consumer.connection, 4 + length);
  send_fetch();
}

static void await_visible(void) {
  double give_up_at = now_seconds() + STALL_SECONDS;
  while (seen < partitions) {
    struct epoll_event event;
    int count = epoll_wait(poller, &event, 1, 1000);
    if (count > 0 && (event.events & EPOLLOUT) != 0)
      connection_flush(&((Client *)event.data.ptr)->connection, event.data.ptr);
    if (count > 0 && event.data.ptr == &consumer && connection_fill(&consumer.connection)) read_fetched();
    if (now_seconds() > give_up_at) fail("%ld of %ld records are not visible", partitions - seen, partitions);
  }
}

int main(int count, char **arguments) {
  const Option options[] = {
      {"--port", &port, NULL},           {"--topic", NULL, &topic},     {"--until", NULL, &until},
      {"--partitions", &partitions, NULL}, {"--records", &transactions, NULL}, {"--size", &size, NULL},
      {"--seconds", &seconds_max, NULL}, {"--pid", &broker_pid, NULL},  {NULL, NULL, NULL},
  };
  read_options(count, arguments, options);
  bool answered = strcmp(until, "answered") == 0;
  if (!answered && strcmp(until, "visible") != 0) fail("until %s?", until);
  if (partitions < 1 || partitions > 10000 || transactions < 1 || size < 0 || size > 1 << 20) fail("an option is out of range");

  alarm((unsigned)DEADLINE_SECONDS);
  crc_prepare();
  produce_request.bytes = reserve(NULL, (size_t)partitions * ((size_t)size + 128) + 1024);
  fetch_request.bytes = reserve(NULL, (size_t)partitions * 32 + 1024);
  positions = calloc((size_t)partitions, sizeof *positions);
  connection_open(&producer.connection, &producer, (int)port);
  create_topic();
  await(all_lead, "the topic does not become ready");
  await(coordinator_found, "there is no coordinator");
  await(producer_begun, "the coordinator does not become ready");
  connection_open(&consumer.connection, &consumer, (int)port);
  send_fetch();

  Costs start = costs_now((int)broker_pid);
  long done = 0;
  for (; done < transactions && now_seconds() < start.wall + (double)seconds_max; done++) {
    seen = 0;
    produce();
    double asked_at = now_seconds();
    end_transaction();
    double answered_at = now_seconds();
    await_visible();
    latency_add((answered ? answered_at : now_seconds()) - asked_at);
  }
  Costs end = costs_now((int)broker_pid);
  printf("{\"partitions\":%ld,\"size\":%ld,\"records\":%ld,\"recordsPerSecond\":%.1f,", partitions, size, done,
         (double)done / (end.wall - start.wall));
  print_costs(start, end, (int)broker_pid);
  printf(","), print_latencies();
  printf("}\n");
  return 0;
}
