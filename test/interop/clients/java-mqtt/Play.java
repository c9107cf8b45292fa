// What each Java client does, over the few things that it needs of one: says what it did as `did: WORDS`, and what came
// of Kafka's record as `message: JSON`. mqtt-clients.ts reads it.
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

final class Play {
  static final byte[] CORRELATION_DATA = {0, 1, (byte) 255};
  static final List<List<String>> USER_PROPERTIES =
      List.of(List.of("unit", "°C"), List.of("site", "a"), List.of("unit", "K"));

  /** What is null or empty is not on the message. */
  record Message(
      String topic, byte[] payload, int qos, boolean retain,
      String contentType, String responseTopic, byte[] correlationData, List<List<String>> userProperties) {}

  /** Messages that come go into `messages`. */
  abstract static class Client {
    final BlockingQueue<Message> messages = new LinkedBlockingQueue<>();
    boolean sessionPresent;

    abstract void subscribe(String filter, int qos) throws Exception;

    abstract void unsubscribe(String filter) throws Exception;

    /** @param answer topic of the answer; null for a message without properties */
    abstract void publish(String topic, byte[] payload, int qos, boolean retain, String answer) throws Exception;

    abstract void close() throws Exception;

    /** So that its will is published. */
    abstract void breakOff() throws Exception;
  }

  interface Opener {
    /** @param will topic of a will; null for none */
    Client open(String clientId, boolean keeps, String will) throws Exception;
  }

  private Play() {}

  static void run(String topic, boolean withProperties, Opener opener) throws Exception {
    Client one = opener.open(topic + "-one", false, null);
    Client other = opener.open(topic + "-other", false, null);
    one.subscribe(topic + "/qos/#", 2);
    for (int qos = 0; qos < 3; qos++) other.publish(topic + "/qos/" + qos, bytes("at " + qos), qos, false, null);
    for (int qos = 0; qos < 3; qos++) expectNext(one, topic + "/qos/" + qos, "at " + qos, qos, false);
    one.unsubscribe(topic + "/qos/#");
    did("delivered at QoS 0, 1 and 2");

    Client away = opener.open(topic + "-away", true, null);
    expect(!away.sessionPresent, "no session at first");
    away.subscribe(topic + "/session", 2);
    away.close();
    for (int qos = 1; qos < 3; qos++) other.publish(topic + "/session", bytes("at " + qos), qos, false, null);
    away = opener.open(topic + "-away", true, null);
    expect(away.sessionPresent, "a session");
    for (int qos = 1; qos < 3; qos++) expectNext(away, topic + "/session", "at " + qos, qos, false);
    away.close();
    did("resumed a session");

    other.publish(topic + "/retained", bytes("kept"), 1, true, null);
    one.subscribe(topic + "/retained", 1);
    expectNext(one, topic + "/retained", "kept", 1, true);
    other.publish(topic + "/retained", bytes(""), 1, true, null);
    expectNext(one, topic + "/retained", "", 1, false);
    did("retained and cleared");

    one.subscribe(topic + "/will", 1);
    opener.open(topic + "-breaks", false, topic + "/will").breakOff();
    expectNext(one, topic + "/will", "gone", 1, false);
    did("left a will");

    other.publish(topic + "/to-kafka", bytes("from MQTT"), 2, false, withProperties ? topic + "/answer" : null);
    did("published for Kafka");

    one.subscribe(topic + "/from-kafka", 1);
    did("subscribed for Kafka");
    say("message: " + json(next(one)));
    one.close();
    other.close();
    did("all");
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Message next(Client client) throws InterruptedException {
    Message message = client.messages.poll(30, TimeUnit.SECONDS);
    expect(message != null, "a message within 30 s");
    return message;
  }

  private static void expectNext(Client client, String topic, String payload, int qos, boolean retain)
      throws InterruptedException {
    Message got = next(client);
    boolean held = got.topic.equals(topic) && new String(got.payload, StandardCharsets.UTF_8).equals(payload)
        && got.qos == qos && got.retain == retain;
    expect(held, topic + " " + payload + " " + qos + " " + retain + ", but " + json(got) + got.qos + got.retain);
  }

  private static void expect(boolean held, String what) {
    if (!held) throw new AssertionError("not so: " + what);
  }

  private static void did(String words) {
    say("did: " + words);
  }

  private static void say(String line) {
    byte[] bytes = bytes(line + "\n");
    System.out.write(bytes, 0, bytes.length);
    System.out.flush();
  }

  private static String json(Message message) {
    String properties = message.userProperties.stream()
        .map(each -> "[" + quoted(each.get(0)) + "," + quoted(each.get(1)) + "]")
        .collect(Collectors.joining(","));
    return "{\"topic\":" + quoted(message.topic) + ",\"payload\":" + quoted(HexFormat.of().formatHex(message.payload))
        + ",\"contentType\":" + quoted(message.contentType) + ",\"responseTopic\":" + quoted(message.responseTopic)
        + ",\"correlationData\":"
        + quoted(message.correlationData == null ? null : HexFormat.of().formatHex(message.correlationData))
        + ",\"userProperties\":[" + properties + "]}";
  }

  /** Text without what JSON escapes. */
  private static String quoted(String text) {
    return text == null ? "null" : "\"" + text + "\"";
  }
}
