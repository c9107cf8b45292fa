// Kafka Streams: `WordCount PORT INPUT OUTPUT GUARANTEE STATE_DIRECTORY` counts words until it is ended. Its topology has
// a topic of its own for repartitioning and one for its store's changes. Says `state: STATE` as that changes.
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

public final class WordCount {
  private WordCount() {}

  public static void main(String[] args) {
    Properties config = new Properties();
    config.put("application.id", "count-of-" + args[1]);
    config.put("bootstrap.servers", "127.0.0.1:" + args[0]);
    config.put("processing.guarantee", args[3]);
    config.put("state.dir", Path.of(args[4]).toString());
    config.put("commit.interval.ms", 100);
    config.put("auto.offset.reset", "earliest");
    // It does not leave its group as it closes: whoever comes next waits for so long.
    config.put("session.timeout.ms", 6_000);
    config.put("heartbeat.interval.ms", 500);
    // Each count is seen as it is made.
    config.put("statestore.cache.max.bytes", 0);
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(args[1], Consumed.with(Serdes.String(), Serdes.String()))
        .flatMapValues(line -> Arrays.asList(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
        .count()
        .mapValues(count -> Long.toString(count))
        .toStream()
        .to(args[2], Produced.with(Serdes.String(), Serdes.String()));
    KafkaStreams streams = new KafkaStreams(builder.build(), config);
    streams.setStateListener((state, before) -> Report.say("state: " + state));
    streams.setUncaughtExceptionHandler(problem -> {
      Report.say("replaced a thread: " + problem);
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      Report.expect(streams.close(Duration.ofSeconds(20)), "closed within 20 s");
      Report.did("closed");
    }));
    streams.start();
  }
}
