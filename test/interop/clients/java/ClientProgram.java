// Apache's Java client: `ClientProgram PORT TOPIC PROTOCOL BASE_MS`, PROTOCOL being the consumer's group.protocol and
// BASE_MS the time of each codec's first record. Says what it did and read as client-program.ts expects it.
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class ClientProgram {
  private static final int PARTITIONS = 4;
  private static final int RECORDS_A_CODEC = 10;
  private static final int TOTAL = RECORDS_A_CODEC * 5;

  private final String server;
  private final String topic;
  private final String group;
  private final String protocol;
  private final long baseMs;

  private ClientProgram(String[] args) {
    server = "127.0.0.1:" + args[0];
    topic = args[1];
    group = "group-of-" + topic;
    protocol = args[2];
    baseMs = Long.parseLong(args[3]);
  }

  public static void main(String[] args) throws Exception {
    ClientProgram program = new ClientProgram(args);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", program.server))) {
      program.makeTopics(admin);
      for (String codec : Report.CODECS) program.produce(codec);
      Report.did("produced idempotently");
      program.rebalance();
      program.checkOffsets(admin);
      program.deleteTopic(admin);
    }
    Report.did("all");
  }

  private void makeTopics(Admin admin) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1), new NewTopic(other(), 1, (short) 1)))
        .all().get();
    Report.did("created topics");
    var described = admin.describeTopics(List.of(topic, other())).allTopicNames().get();
    Report.expect(described.get(topic).partitions().size() == PARTITIONS, "four partitions");
    Report.expect(described.get(other()).partitions().size() == 1, "one partition");
    Report.did("described topics");
  }

  private String other() {
    return topic + "-other";
  }

  /** The last but one has no key, the last no value. */
  private void produce(String codec) throws Exception {
    try (var producer = producer(codec)) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (int i = 0; i < RECORDS_A_CODEC; i++) {
        byte[] key = i == RECORDS_A_CODEC - 2 ? null : (codec + "-" + i).getBytes();
        byte[] value = i == RECORDS_A_CODEC - 1 ? null : (codec + " " + i + " ").repeat(20).getBytes();
        var record = new ProducerRecord<>(topic, null, baseMs + i, key, value);
        record.headers().add("codec", codec.getBytes()).add("empty", new byte[0]);
        sent.add(producer.send(record));
      }
      for (int i = 0; i < RECORDS_A_CODEC; i++)
        Report.expect(sent.get(i).get().timestamp() == baseMs + i, "the time of what was sent");
    }
    Report.did("produced " + codec);
  }

  private KafkaProducer<byte[], byte[]> producer(String codec) {
    return new KafkaProducer<>(Map.of("bootstrap.servers", server, "compression.type", codec,
        "enable.idempotence", true, "linger.ms", 20), new ByteArraySerializer(), new ByteArraySerializer());
  }

  private void rebalance() throws Exception {
    Member first = new Member();
    Member second = new Member();
    first.start();
    Report.waitFor("one member reads all", () -> first.has(4) && first.records.size() == TOTAL);
    second.start();
    Report.waitFor("two have two each", () -> first.has(2) && second.has(2));
    Report.did("a second member joined: 2 and 2 partitions");
    try (var producer = producer("none")) {
      for (int i = 0; i < PARTITIONS; i++) {
        byte[] key = ("more-" + i).getBytes();
        producer.send(new ProducerRecord<>(topic, i, baseMs + i, key, "more".getBytes())).get();
      }
    }
    Report.waitFor("two read what came",
        () -> first.records.size() + second.records.size() == TOTAL + PARTITIONS);
    second.leave();
    Report.waitFor("the first has all again", () -> first.has(4));
    Report.did("the second member left: 4 partitions");
    first.leave();
    for (Member member : List.of(first, second)) member.records.forEach(Report::record);
  }

  /** Polls and commits until it is told to leave. */
  private final class Member extends Thread {
    final List<ConsumerRecord<byte[], byte[]>> records = new CopyOnWriteArrayList<>();
    private volatile int parts;
    private volatile boolean leaving;
    private volatile Throwable problem;

    @Override
    public void run() {
      Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", server, "group.id", group,
          "auto.offset.reset", "earliest", "enable.auto.commit", false, "group.protocol", protocol));
      if (protocol.equals("classic")) config.put("heartbeat.interval.ms", 300);
      try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        consumer.subscribe(List.of(topic));
        while (!leaving) {
          var polled = consumer.poll(Duration.ofMillis(200));
          if (!polled.isEmpty()) consumer.commitSync();
          polled.forEach(records::add);
          parts = consumer.assignment().size();
        }
      } catch (Throwable error) {
        problem = error;
      }
    }

    boolean has(int wanted) {
      if (problem != null) throw new AssertionError(problem);
      return parts == wanted;
    }

    void leave() throws Exception {
      leaving = true;
      join();
      if (problem != null) throw new AssertionError(problem);
    }
  }

  private void checkOffsets(Admin admin) throws Exception {
    long committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values().stream()
        .mapToLong(OffsetAndMetadata::offset).sum();
    Report.expect(committed == TOTAL + PARTITIONS, "committed " + committed);
    Report.did("committed offsets");
    long end = 0;
    for (int i = 0; i < PARTITIONS; i++) {
      end += offset(admin, i, OffsetSpec.latest());
      Report.expect(offset(admin, i, OffsetSpec.forTimestamp(1)) == 0, "offset 0 at time 1");
    }
    Report.expect(end == TOTAL + PARTITIONS, "end offsets " + end);
    Report.did("listed offsets by time");
  }

  private long offset(Admin admin, int partition, OffsetSpec at) throws Exception {
    var place = new TopicPartition(topic, partition);
    return admin.listOffsets(Map.of(place, at)).partitionResult(place).get().offset();
  }

  private void deleteTopic(Admin admin) throws Exception {
    admin.deleteTopics(List.of(other())).all().get();
    Report.expect(!admin.listTopics().names().get().contains(other()), other() + " is gone");
    Report.did("deleted a topic");
  }
}
