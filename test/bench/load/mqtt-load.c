// MQTT load: publishers and subscribers over QoS 0, 1 and 2 in 3.1.1 or 5, one line of JSON as the result.
//
//   mqtt-load --port N [--publishers N] [--subscribers N] [--qos 0|1|2] [--version 4|5] [--size BYTES]
//             [--messages N (of all publishers)] [--seconds N] [--window N] [--topic T] [--rate PER_SECOND]
//             [--idle CONNECTIONS] [--filters N] [--pid BROKER]
//
// --idle connections are opened first and do nothing: what the broker has grown by for each is idleConnectionKiB.
// --filters are subscribed to by one more client, and match nothing that is published. Without publishers it says
// `ready` and waits for as many messages as others send (where the first eight bytes of one are the sender's
// CLOCK_MONOTONIC in seconds, a double, its latency is told); its clock starts with the first. residentGrowthMiB is what the broker grew by in the last two thirds of the load.
//
// The loop is closed: no publisher is more than --window messages ahead of the slowest subscriber (or, without
// subscribers, of its own acknowledgements), so that no queue grows and what is measured is steady. With --rate
// the publishers keep that pace instead, and the latencies mean something.
// Build: cc -O2 -o mqtt-load mqtt-load.c
#define _GNU_SOURCE
#include "load.h"

enum {
  CONNECT = 1, CONNACK = 2, PUBLISH = 3, PUBACK = 4, PUBREC = 5, PUBREL = 6, PUBCOMP = 7, SUBSCRIBE = 8, SUBACK = 9
};

static const char *topic = "bench/device/0001/telemetry";
static long port = 1883, publishers = 1, subscribers = 1, qos = 0, version = 4, size = 64, messages = 100000,
            window = 1000, rate = 0, seconds_max = 100, idle = 0, filters = 0, broker_pid = 0;

typedef struct {
  Connection connection;
  bool publishes, idles, filters, ready;
  long acknowledged_filters;
  long sent, acknowledged, received;
  uint16_t packet_id;
} Client;

static Client *clients;
static long client_count, ready_count, sent_total, acknowledged_total, received_total;

static Costs first_arrival;

static uint8_t *publish_packet;
static size_t publish_length, packet_id_at, payload_at;

// --------------------------------------------------------------------------------------------- packets

static size_t write_remaining_length(uint8_t *at, size_t value) {
  size_t length = 0;
  do {
    at[length] = (uint8_t)(value % 128);
    value /= 128;
    if (value > 0) at[length] |= 128;
    length++;
  } while (value > 0);
  return length;
}

static size_t write_text(uint8_t *at, const char *text) {
  size_t length = strlen(text);
  store_u16(at, (uint32_t)length);
  memcpy(at + 2, text, length);
  return length + 2;
}

static void send_packet(Client *client, uint8_t first, const uint8_t *body, size_t length) {
  uint8_t head[5] = {first};
  connection_put(&client->connection, head, 1 + write_remaining_length(head + 1, length));
  connection_put(&client->connection, body, length);
  connection_flush(&client->connection, client);
}

static void send_connect(Client *client, long number) {
  uint8_t body[128];
  char client_id[64];
  size_t length = write_text(body, "MQTT");
  body[length++] = (uint8_t)version;
  body[length++] = 2;  // clean start
  store_u16(body + length, 0);  // no keepalive
  length += 2;
  if (version == 5) body[length++] = 0;  // no properties
  snprintf(client_id, sizeof client_id, "load-%d-%ld", (int)getpid(), number);
  length += write_text(body + length, client_id);
  send_packet(client, CONNECT << 4, body, length);
}

static void send_subscribe(Client *client) {
  uint8_t body[512];
  size_t length = 0;
  store_u16(body, 1);
  length += 2;
  if (version == 5) body[length++] = 0;
  length += write_text(body + length, topic);
  body[length++] = (uint8_t)qos;
  send_packet(client, SUBSCRIBE << 4 | 2, body, length);
}

#define FILTERS_IN_ONE 100

// A part of the many filters, from `first` on.
static void send_filters(Client *client, long first) {
  static uint8_t body[FILTERS_IN_ONE * 64];
  char filter[48];
  size_t length = 2;
  store_u16(body, (uint32_t)(first / FILTERS_IN_ONE % 65535) + 1);
  if (version == 5) body[length++] = 0;
  for (long i = first; i < filters && i < first + FILTERS_IN_ONE; i++) {
    snprintf(filter, sizeof filter, "filters/%ld/+/of/%ld", i % 1000, i);
    length += write_text(body + length, filter);
    body[length++] = (uint8_t)qos;
  }
  send_packet(client, SUBSCRIBE << 4 | 2, body, length);
}

// The one PUBLISH that is sent again and again; its packet id and the time in its payload change.
static void encode_publish(void) {
  size_t body = 2 + strlen(topic) + (qos > 0 ? 2 : 0) + (version == 5 ? 1 : 0) + (size_t)size;
  publish_packet = reserve(NULL, body + 16);
  publish_packet[0] = (uint8_t)(PUBLISH << 4 | qos << 1);
  size_t length = 1 + write_remaining_length(publish_packet + 1, body);
  length += write_text(publish_packet + length, topic);
  packet_id_at = length;
  if (qos > 0) length += 2;
  if (version == 5) publish_packet[length++] = 0;
  payload_at = length;
  memset(publish_packet + length, 'x', (size_t)size);
  publish_length = length + (size_t)size;
}

static void send_publish(Client *client) {
  if (qos > 0) {
    client->packet_id = client->packet_id == 65535 ? 1 : client->packet_id + 1;
    store_u16(publish_packet + packet_id_at, client->packet_id);
  }
  if (size >= 8) {
    double time = now_seconds();
    memcpy(publish_packet + payload_at, &time, sizeof time);
  }
  connection_put(&client->connection, publish_packet, publish_length);
  client->sent++;
  sent_total++;
}

// ------------------------------------------------------------------------------------------- answers

static void on_publish(Client *client, const uint8_t *packet, const uint8_t *body) {
  int delivered_qos = packet[0] >> 1 & 3;
  size_t at = 2 + load_u16(body);
  if (delivered_qos > 0) {
    uint8_t acknowledgement[4] = {(uint8_t)((delivered_qos == 1 ? PUBACK : PUBREC) << 4), 2, body[at], body[at + 1]};
    connection_put(&client->connection, acknowledgement, sizeof acknowledgement);
    at += 2;
  }
  if (version == 5) {  // properties: a length of at most 4 bytes, and what it counts
    size_t properties = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      uint8_t byte = body[at++];
      properties |= (size_t)(byte & 127) << shift;
      if (byte < 128) break;
    }
    at += properties;
  }
  if (received_total == 0) first_arrival = costs_now((int)broker_pid);
  client->received++;
  received_total++;
  // Asking for the time costs: one message in sixteen is enough, all of them when they are few.
  if (size < 8 || (rate == 0 && received_total % 16 != 0)) return;
  double sent_at;
  memcpy(&sent_at, body + at, sizeof sent_at);
  double time = now_seconds();
  if (is_stamp(sent_at, time)) latency_add(time - sent_at);
}

static void on_packet(Client *client, const uint8_t *packet, const uint8_t *body) {
  switch (packet[0] >> 4) {
    case CONNACK:
      if (body[1] != 0) fail("CONNECT was refused with code %d", body[1]);
      if (client->filters) {
        send_filters(client, 0);
        break;
      }
      if (!client->publishes && !client->idles) {
        send_subscribe(client);
        break;
      }
      client->ready = true;
      ready_count++;
      break;
    case SUBACK:
      client->acknowledged_filters += FILTERS_IN_ONE;
      if (client->filters && client->acknowledged_filters < filters) {
        send_filters(client, client->acknowledged_filters);
        break;
      }
      client->ready = true;
      ready_count++;
      break;
    case PUBREC:
    case PUBREL: {
      uint8_t answer[4] = {packet[0] >> 4 == PUBREC ? PUBREL << 4 | 2 : PUBCOMP << 4, 2, body[0], body[1]};
      connection_put(&client->connection, answer, sizeof answer);
      break;
    }
    case PUBACK:
    case PUBCOMP:
      client->acknowledged++;
      acknowledged_total++;
      break;
    case PUBLISH:
      on_publish(client, packet, body);
      break;
    default:
      fail("an unexpected packet of type %d", packet[0] >> 4);
  }
}

static void read_packets(Client *client) {
  Connection *connection = &client->connection;
  size_t from = 0;
  for (;;) {
    const uint8_t *packet = connection->input + from;
    size_t available = connection->input_length - from, head = 1, length = 0;
    bool complete = false;
    for (int shift = 0; shift < 28 && head < available && !complete; shift += 7) {
      length |= (size_t)(packet[head] & 127) << shift;
      complete = packet[head++] < 128;
    }
    if (!complete || available - head < length) break;
    on_packet(client, packet, packet + head);
    from += head + length;
  }
  connection_consume(connection, from);
  connection_flush(connection, client);
}

// ------------------------------------------------------------------------------------------------- load

static long slowest_received(void) {
  long slowest = sent_total;
  for (long i = publishers; i < publishers + subscribers; i++)
    if (clients[i].received < slowest) slowest = clients[i].received;
  return slowest;
}

static void publish_more(double started_at) {
  long per_publisher = publishers > 0 ? messages / publishers : 0;
  // A window for all: what was sent and has not yet reached the slowest subscriber.
  long ahead = sent_total - slowest_received();
  long due = rate > 0 ? (long)((now_seconds() - started_at) * (double)rate) - sent_total : messages;
  // With a pace each publisher has its share, and another one is first each time.
  static long first;
  long burst_max = rate > 0 && publishers > 0 ? due / publishers + 1 : window;
  first++;
  for (long i = 0; i < publishers; i++) {
    Client *client = &clients[(first + i) % publishers];
    long burst = 0;
    while (client->sent < per_publisher && burst < burst_max && due > 0 && (subscribers == 0 || ahead < window) &&
           (qos == 0 || client->sent - client->acknowledged < window) &&
           connection_pending(&client->connection) < 256 * 1024) {
      send_publish(client);
      burst++;
      ahead++;
      due--;
      if (burst % 64 == 0) connection_flush(&client->connection, client);
    }
    connection_flush(&client->connection, client);
  }
}

static void poll_clients(int timeout_ms) {
  static double heard_at;
  struct epoll_event events[64];
  int count = epoll_wait(poller, events, 64, timeout_ms);
  double time = now_seconds();
  if (heard_at == 0 || count > 0) heard_at = time;
  if (time - heard_at > STALL_SECONDS)
    fail("nothing was heard for %.0f s: %ld sent, %ld acknowledged, %ld received", STALL_SECONDS, sent_total,
         acknowledged_total, received_total);
  for (int i = 0; i < count; i++) {
    Client *client = events[i].data.ptr;
    if (events[i].events & EPOLLOUT) connection_flush(&client->connection, client);
    if (events[i].events & ~(uint32_t)EPOLLOUT && connection_fill(&client->connection)) read_packets(client);
  }
}

static void open_client(Client *client, long number) {
  connection_open(&client->connection, client, (int)port);
  send_connect(client, number);
}

static void await_ready(long count) {
  while (ready_count < count) poll_clients(1000);
}

// Opened a hundred at a time, so that no backlog of the broker overflows. Returns what each costs it.
static double open_idle(Client *idlers) {
  double before = process_resident_mib((int)broker_pid);
  for (long i = 0; i < idle; i++) {
    idlers[i].idles = true;
    open_client(&idlers[i], 1000000 + i);
    if (i % 100 == 99) await_ready(i + 1);
  }
  await_ready(idle);
  return idle == 0 ? 0 : (process_resident_mib((int)broker_pid) - before) * 1024 / (double)idle;
}

int main(int count, char **arguments) {
  const Option options[] = {
      {"--port", &port, NULL},         {"--publishers", &publishers, NULL}, {"--subscribers", &subscribers, NULL},
      {"--qos", &qos, NULL},           {"--version", &version, NULL},       {"--size", &size, NULL},
      {"--messages", &messages, NULL}, {"--window", &window, NULL},         {"--topic", NULL, &topic},
      {"--rate", &rate, NULL},         {"--pid", &broker_pid, NULL},        {"--seconds", &seconds_max, NULL},
      {"--idle", &idle, NULL},         {"--filters", &filters, NULL},
      {NULL, NULL, NULL},
  };
  read_options(count, arguments, options);
  if (qos < 0 || qos > 2 || (version != 4 && version != 5) || publishers < 0 || subscribers < 0 || size < 0 ||
      size > 1 << 20 || window < 1 || window > 60000 || messages < publishers || strlen(topic) > 400 || idle < 0 ||
      idle > 60000 || filters < 0 || filters > 1000000 || publishers + subscribers < 1)
    fail("an option is out of range");

  alarm((unsigned)(DEADLINE_SECONDS + (rate > 0 ? (double)messages / (double)rate : 0)));
  encode_publish();
  allow_many_files();
  Client *idlers = calloc((size_t)idle + 1, sizeof *idlers);
  double idle_kib = open_idle(idlers);
  client_count = publishers + subscribers + (filters > 0);
  clients = calloc((size_t)client_count, sizeof *clients);
  for (long i = 0; i < client_count; i++) {
    clients[i].publishes = i < publishers;
    clients[i].filters = i == publishers + subscribers;
    open_client(&clients[i], i);
  }
  await_ready(idle + client_count);
  if (publishers == 0) printf("ready\n"), fflush(stdout);

  long to_send = publishers > 0 ? messages / publishers * publishers : 0;
  long to_receive = (publishers > 0 ? to_send : messages) * subscribers;
  double expected_seconds = rate > 0 ? (double)messages / (double)rate : (double)seconds_max, resident_early = 0;
  Costs start = costs_now((int)broker_pid);
  while (sent_total < to_send || received_total < to_receive || (qos > 0 && acknowledged_total < to_send)) {
    // A slow broker is measured for as long as a fast one.
    if (sent_total < to_send && now_seconds() - start.wall >= (double)seconds_max)
      to_send = sent_total, to_receive = to_send * subscribers;
    if (sent_total < to_send) publish_more(start.wall);
    if (resident_early == 0 && now_seconds() - start.wall > expected_seconds / 3)
      resident_early = process_resident_mib((int)broker_pid);
    if (sent_total < to_send || received_total < to_receive || qos > 0) poll_clients(rate > 0 ? 1 : 100);
  }
  Costs end = costs_now((int)broker_pid);
  if (publishers == 0) start = first_arrival;
  double seconds = end.wall - start.wall;
  printf("{\"mode\":\"mqtt\",\"qos\":%ld,\"version\":%ld,\"publishers\":%ld,\"subscribers\":%ld,\"size\":%ld,", qos,
         version, publishers, subscribers, size);
  printf("\"window\":%ld,\"records\":%ld,\"delivered\":%ld,\"recordsPerSecond\":%.0f,\"deliveredPerSecond\":%.0f,",
         window, publishers > 0 ? sent_total : received_total, received_total,
         (double)(publishers > 0 ? sent_total : received_total) / seconds, (double)received_total / seconds);
  print_costs(start, end, (int)broker_pid);
  if (idle > 0) printf(",\"idleConnectionKiB\":%.1f", idle_kib);
  if (resident_early > 0)
    printf(",\"residentGrowthMiB\":%.1f", process_resident_mib((int)broker_pid) - resident_early);
  if (latency_count > 0) printf(","), print_latencies();
  printf("}\n");
  return 0;
}
