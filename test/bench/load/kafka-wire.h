// What the Kafka load generators share: requests written by hand, the checksum of batches, answers as they come.
#ifndef KAFKA_WIRE_H
#define KAFKA_WIRE_H

#include "load.h"

enum { API_LIST_OFFSETS = 2 };

// --------------------------------------------------------------------------------------------- encoding

static uint32_t crc_table[8][256];

// CRC-32C, eight bytes at a time (slicing-by-8).
static void crc_prepare(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
    crc_table[0][i] = value;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (int k = 1; k < 8; k++) crc_table[k][i] = crc_table[0][crc_table[k - 1][i] & 255] ^ crc_table[k - 1][i] >> 8;
}

static uint32_t crc32c(const uint8_t *bytes, size_t length) {
  uint32_t crc = ~0u;
  for (; length >= 8; bytes += 8, length -= 8) {
    crc ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    crc = crc_table[7][crc & 255] ^ crc_table[6][crc >> 8 & 255] ^ crc_table[5][crc >> 16 & 255] ^
          crc_table[4][crc >> 24] ^ crc_table[3][bytes[4]] ^ crc_table[2][bytes[5]] ^ crc_table[1][bytes[6]] ^
          crc_table[0][bytes[7]];
  }
  for (; length > 0; bytes++, length--) crc = crc_table[0][(crc ^ *bytes) & 255] ^ crc >> 8;
  return ~crc;
}

typedef struct {
  uint8_t *bytes;
  size_t length;
} Writer;

static void write_u8(Writer *writer, uint32_t value) { writer->bytes[writer->length++] = (uint8_t)value; }

static void write_u16(Writer *writer, uint32_t value) {
  store_u16(writer->bytes + writer->length, value);
  writer->length += 2;
}

static void write_u32(Writer *writer, uint32_t value) {
  store_u32(writer->bytes + writer->length, value);
  writer->length += 4;
}

static void write_u64(Writer *writer, uint64_t value) {
  store_u64(writer->bytes + writer->length, value);
  writer->length += 8;
}

static void write_string(Writer *writer, const char *text) {
  size_t length = strlen(text);
  write_u16(writer, (uint32_t)length);
  memcpy(writer->bytes + writer->length, text, length);
  writer->length += length;
}

static void write_varint(Writer *writer, int64_t value) {
  uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
  for (; zigzag >= 128; zigzag >>= 7) write_u8(writer, (uint32_t)(zigzag & 127) | 128);
  write_u8(writer, (uint32_t)zigzag);
}

static size_t varint_length(int64_t value) {
  uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
  size_t length = 1;
  for (; zigzag >= 128; zigzag >>= 7) length++;
  return length;
}

static void write_header(Writer *writer, uint32_t api, uint32_t version) {
  write_u32(writer, 0);  // length, set by finish_request
  write_u16(writer, api);
  write_u16(writer, version);
  write_u32(writer, 1);  // correlation id
  write_string(writer, "kafka-load");
}

static void finish_request(Writer *writer) { store_u32(writer->bytes, (uint32_t)writer->length - 4); }

// --------------------------------------------------------------------------------------------- answers

// The whole answer at the start of the input, or NULL: not there yet.
static const uint8_t *next_answer(Connection *connection, size_t from, size_t *length) {
  if (connection->input_length - from < 4) return NULL;
  *length = load_u32(connection->input + from);
  return connection->input_length - from - 4 < *length ? NULL : connection->input + from + 4;
}

static inline int64_t read_varint(const uint8_t **at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) break;
  }
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

// One request and its answer, waited for: what happens before the clock runs.
static const uint8_t *ask(Connection *connection, void *owner, Writer *request) {
  size_t length;
  const uint8_t *answer;
  double give_up_at = now_seconds() + STALL_SECONDS;
  finish_request(request);
  connection_put(connection, request->bytes, request->length);
  while ((answer = next_answer(connection, 0, &length)) == NULL) {
    connection_flush(connection, owner);
    struct epoll_event event;
    epoll_wait(poller, &event, 1, 100);
    connection_fill(connection);
    if (now_seconds() > give_up_at) fail("no answer");
  }
  // The bytes stay where they are until the next read.
  connection->input_length = 0;
  return answer;
}

// Offset behind the last record of a partition; -1 = it is not served yet.
static int64_t log_end(Connection *connection, void *owner, const char *topic, long partition) {
  uint8_t bytes[512];
  Writer request = {.bytes = bytes};
  write_header(&request, API_LIST_OFFSETS, 1);
  write_u32(&request, UINT32_MAX);  // replica: a consumer
  write_u32(&request, 1);
  write_string(&request, topic);
  write_u32(&request, 1);
  write_u32(&request, (uint32_t)partition);
  write_u64(&request, UINT64_MAX);  // latest
  const uint8_t *at = ask(connection, owner, &request) + 4 + 4;
  at += 2 + load_u16(at) + 4 + 4;
  return load_u16(at) == 0 ? (int64_t)load_u64(at + 2 + 8) : -1;
}

#endif
