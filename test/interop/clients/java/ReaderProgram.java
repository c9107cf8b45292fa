// Reads a topic from its start to its end: `ReaderProgram PORT TOPIC ISOLATION`, ISOLATION being the consumer's
// isolation.level. Says each record, and the end of each partition as this isolation sees it.
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public final class ReaderProgram {
  private ReaderProgram() {}

  public static void main(String[] args) {
    Map<String, Object> config = Map.of("bootstrap.servers", "127.0.0.1:" + args[0], "isolation.level", args[2]);
    try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = consumer.partitionsFor(args[1]).stream()
          .map(each -> new TopicPartition(each.topic(), each.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each)))
        consumer.poll(Duration.ofMillis(200)).forEach(Report::record);
    }
    Report.did("all");
  }
}
