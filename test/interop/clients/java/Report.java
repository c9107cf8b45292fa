// What the programs here have in common: how they say what they did. client-program.ts reads it.
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;

final class Report {
  static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

  private Report() {}

  static void did(String words) {
    say("did: " + words);
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static void expect(boolean held, String what) {
    if (!held) throw new AssertionError("not so: " + what);
  }

  /** Waits on what heartbeats and other clients move. */
  static void waitFor(String what, Callable<Boolean> condition) throws Exception {
    for (long end = System.nanoTime() + 25_000_000_000L; !condition.call(); Thread.sleep(50))
      expect(System.nanoTime() < end, "within 25 s: " + what);
  }

  /** Says a record that was read. */
  static void record(ConsumerRecord<byte[], byte[]> record) {
    String headers = Arrays.stream(record.headers().toArray())
        .map(header -> "[" + quoted(header.key().getBytes()) + "," + quoted(header.value()) + "]")
        .collect(Collectors.joining(","));
    say("record: {\"key\":" + quoted(record.key()) + ",\"value\":" + quoted(record.value())
        + ",\"headers\":[" + headers + "],\"timestampMs\":" + record.timestamp() + "}");
  }

  /** Text without what JSON escapes. */
  private static String quoted(byte[] bytes) {
    return bytes == null ? "null" : "\"" + new String(bytes) + "\"";
  }
}
