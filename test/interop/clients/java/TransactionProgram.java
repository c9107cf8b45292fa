// Transactions of Apache's Java client: `TransactionProgram PORT TOPIC`. Commits, aborts, offsets in a transaction,
// fencing, timeouts and the administration of transactions. The value of each record says what is to become of it:
// those that start with `committed` are to be seen by everybody, `aborted` ones by readers of uncommitted records.
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeProducersOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class TransactionProgram {
  private static final int PARTITIONS = 2;

  private final Admin admin;
  private final String server;
  private final String topic;

  private TransactionProgram(Admin admin, String server, String topic) {
    this.admin = admin;
    this.server = server;
    this.topic = topic;
  }

  public static void main(String[] args) throws Exception {
    String server = "127.0.0.1:" + args[0];
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", server))) {
      admin.createTopics(List.of(new NewTopic(args[1], PARTITIONS, (short) 1))).all().get();
      TransactionProgram program = new TransactionProgram(admin, server, args[1]);
      program.commitAndAbort();
      program.openTransaction();
      program.offsets();
      program.fencing();
      program.timeouts();
      program.administration();
    }
    Report.did("all");
  }

  private KafkaProducer<String, String> producer(String id, int timeoutMs) {
    Map<String, Object> config = Map.of("bootstrap.servers", server, "transactional.id", topic + "-" + id,
        "transaction.timeout.ms", timeoutMs, "linger.ms", 0);
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  /** One record to each partition. */
  private void send(KafkaProducer<String, String> producer, String value) throws Exception {
    for (int i = 0; i < PARTITIONS; i++) producer.send(new ProducerRecord<>(topic, i, "key", value + " " + i)).get();
  }

  private void commitAndAbort() throws Exception {
    try (var producer = producer("plain", 60_000)) {
      producer.initTransactions();
      for (int i = 0; i < 10; i++) {
        producer.beginTransaction();
        send(producer, (i % 3 == 1 ? "aborted " : "committed ") + i);
        if (i % 3 == 1) producer.abortTransaction();
        else producer.commitTransaction();
      }
      producer.beginTransaction();
      producer.commitTransaction();
    }
    Report.did("committed and aborted");
  }

  private long end(IsolationLevel isolation) throws Exception {
    var place = new TopicPartition(topic, 0);
    var ends = admin.listOffsets(Map.of(place, OffsetSpec.latest()), new ListOffsetsOptions(isolation));
    return ends.partitionResult(place).get().offset();
  }

  private void openTransaction() throws Exception {
    try (var producer = producer("open", 60_000)) {
      producer.initTransactions();
      long before = end(IsolationLevel.READ_COMMITTED);
      producer.beginTransaction();
      send(producer, "committed late");
      Report.expect(end(IsolationLevel.READ_COMMITTED) == before, "the end of what is committed stays");
      Report.expect(end(IsolationLevel.READ_UNCOMMITTED) == before + 1, "the end moves");
      Report.expect(describe("open").state() == TransactionState.ONGOING, "ongoing");
      Report.expect(describe("open").topicPartitions().size() == PARTITIONS, "its partitions");
      var place = new TopicPartition(topic, 0);
      var states = admin.describeProducers(List.of(place), new DescribeProducersOptions()).partitionResult(place);
      Report.expect(states.get().activeProducers().stream()
          .anyMatch(each -> each.currentTransactionStartOffset().orElse(-1) == before), "where it began");
      producer.commitTransaction();
      Report.waitFor("the end of what is committed moves", () -> end(IsolationLevel.READ_COMMITTED) == before + 2);
      Report.waitFor("complete", () -> describe("open").state() == TransactionState.COMPLETE_COMMIT);
    }
    Report.did("kept an open transaction from readers");
  }

  private org.apache.kafka.clients.admin.TransactionDescription describe(String id) throws Exception {
    String name = topic + "-" + id;
    return admin.describeTransactions(List.of(name)).description(name).get();
  }

  private void offsets() throws Exception {
    String group = "group-of-" + topic;
    Map<String, Object> config = Map.of("bootstrap.servers", server, "group.id", group, "enable.auto.commit", false,
        "auto.offset.reset", "earliest", "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        var producer = producer("offsets", 60_000)) {
      producer.initTransactions();
      consumer.subscribe(List.of(topic));
      while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(200));
      var place = new TopicPartition(topic, 0);
      transactOffset(producer, place, 3, consumer.groupMetadata(), "aborted with its offset");
      producer.abortTransaction();
      Report.expect(consumer.committed(Set.of(place)).get(place) == null, "no offset");
      transactOffset(producer, place, 5, consumer.groupMetadata(), "committed with its offset");
      producer.commitTransaction();
      Report.expect(consumer.committed(Set.of(place)).get(place).offset() == 5, "offset 5");
      transactOffset(producer, place, 7, consumer.groupMetadata(), "aborted with another offset");
      producer.abortTransaction();
      Report.expect(consumer.committed(Set.of(place)).get(place).offset() == 5, "offset 5 still");
    }
    Report.did("committed and aborted offsets");
  }

  private void transactOffset(KafkaProducer<String, String> producer, TopicPartition place, long offset,
      ConsumerGroupMetadata group, String value) throws Exception {
    producer.beginTransaction();
    send(producer, value);
    producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(offset)), group);
  }

  private interface Attempt {
    void run() throws Exception;
  }

  private static Throwable failureOf(Attempt attempt) {
    try {
      attempt.run();
    } catch (ExecutionException error) {
      return error.getCause();
    } catch (Exception error) {
      return error;
    }
    throw new AssertionError("not refused");
  }

  private void fencing() throws Exception {
    try (var first = producer("fenced", 60_000); var second = producer("fenced", 60_000)) {
      first.initTransactions();
      first.beginTransaction();
      send(first, "aborted for its producer was fenced");
      second.initTransactions();
      Throwable ended = failureOf(first::commitTransaction);
      Report.expect(fenced(ended), "ProducerFencedException, not " + ended);
      second.beginTransaction();
      send(second, "committed by who fenced");
      second.commitTransaction();
    }
    Report.did("saw ProducerFencedException");
  }

  private static boolean fenced(Throwable error) {
    return error instanceof ProducerFencedException || error != null && fenced(error.getCause());
  }

  private void timeouts() throws Exception {
    try (var longest = producer("long", Integer.MAX_VALUE)) {
      Throwable refusal = failureOf(longest::initTransactions);
      Report.expect(refusal.toString().contains("larger than the maximum"), "too long, not " + refusal);
    }
    try (var slow = producer("slow", 1_000)) {
      slow.initTransactions();
      slow.beginTransaction();
      send(slow, "aborted for it took too long");
      Report.waitFor("aborted by the coordinator", () -> describe("slow").state() == TransactionState.COMPLETE_ABORT);
      Throwable refusal = failureOf(slow::commitTransaction);
      Report.expect(refusal instanceof KafkaException, "refused: " + refusal);
      Report.say("said to who took too long: " + refusal);
    }
    Report.did("aborted what took too long");
  }

  private void administration() throws Exception {
    Set<String> listed = new HashSet<>();
    admin.listTransactions().all().get().forEach(each -> listed.add(each.transactionalId()));
    Report.expect(listed.containsAll(Set.of(topic + "-plain", topic + "-fenced")), "listed: " + listed);
    Throwable refusal = failureOf(() -> describe("nobody"));
    Report.expect(refusal instanceof TransactionalIdNotFoundException, "not found, not " + refusal);
    try (var hanging = producer("hanging", 60_000)) {
      hanging.initTransactions();
      hanging.beginTransaction();
      send(hanging, "aborted by the administrator");
      admin.fenceProducers(List.of(topic + "-hanging")).all().get();
      Report.waitFor("aborted", () -> describe("hanging").state() == TransactionState.COMPLETE_ABORT
          || describe("hanging").state() == TransactionState.EMPTY);
      Throwable told = failureOf(hanging::commitTransaction);
      Report.expect(fenced(told), "ProducerFencedException, not " + told);
    }
    Report.expect(end(IsolationLevel.READ_COMMITTED) == end(IsolationLevel.READ_UNCOMMITTED), "nothing is open");
    Report.did("listed, described and fenced transactions");
  }
}
