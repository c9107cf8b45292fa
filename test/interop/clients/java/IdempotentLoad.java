// An idempotent producer at full speed: `IdempotentLoad PORT TOPIC PARTITIONS COUNT`. Record i holds its number and goes
// to partition i modulo PARTITIONS. Says `acknowledged: N` at each percent of COUNT, and how many were refused.
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class IdempotentLoad {
  private IdempotentLoad() {}

  public static void main(String[] args) {
    String topic = args[1];
    int partitions = Integer.parseInt(args[2]);
    int count = Integer.parseInt(args[3]);
    AtomicInteger acknowledged = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    Map<String, Object> config = Map.of("bootstrap.servers", "127.0.0.1:" + args[0], "enable.idempotence", true);
    try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new StringSerializer())) {
      for (int i = 0; i < count; i++) {
        String value = i + " ".repeat(90);
        producer.send(new ProducerRecord<>(topic, i % partitions, null, value), (metadata, problem) -> {
          if (problem != null && refused.getAndIncrement() == 0) Report.say("refused: " + problem);
          int done = acknowledged.incrementAndGet();
          if (done % (count / 100) == 0) Report.say("acknowledged: " + done + ";");
        });
      }
    }
    Report.expect(refused.get() == 0, refused + " were refused");
    Report.did("all");
  }
}
