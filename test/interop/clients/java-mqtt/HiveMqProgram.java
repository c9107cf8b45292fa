// HiveMQ's client, of MQTT 3.1.1 and of 5. Run as `HiveMqProgram PORT 4|5 TOPIC`.
import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt3.Mqtt3BlockingClient;
import com.hivemq.client.mqtt.mqtt3.message.connect.Mqtt3Connect;
import com.hivemq.client.mqtt.mqtt3.message.publish.Mqtt3Publish;
import com.hivemq.client.mqtt.mqtt5.Mqtt5BlockingClient;
import com.hivemq.client.mqtt.mqtt5.datatypes.Mqtt5UserProperties;
import com.hivemq.client.mqtt.mqtt5.datatypes.Mqtt5UserProperty;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5Connect;
import com.hivemq.client.mqtt.mqtt5.message.disconnect.Mqtt5DisconnectReasonCode;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PayloadFormatIndicator;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import java.nio.ByteBuffer;
import java.util.List;

final class HiveMqProgram {
  private HiveMqProgram() {}

  private static MqttQos level(int qos) {
    return MqttQos.fromCode(qos);
  }

  private static final class Client3 extends Play.Client {
    private final String port;
    private final String clientId;
    private final Mqtt3BlockingClient client;

    Client3(String port, String clientId, boolean keeps, String will) {
      this.port = port;
      this.clientId = clientId;
      client = MqttClient.builder().useMqttVersion3().identifier(clientId)
          .serverHost("127.0.0.1").serverPort(Integer.parseInt(port)).buildBlocking();
      client.toAsync().publishes(MqttGlobalPublishFilter.ALL, this::add);
      var connect = Mqtt3Connect.builder().cleanSession(!keeps);
      if (will != null)
        connect = connect.willPublish(
            Mqtt3Publish.builder().topic(will).payload(Play.bytes("gone")).qos(MqttQos.AT_LEAST_ONCE).build());
      sessionPresent = client.connect(connect.build()).isSessionPresent();
    }

    private void add(Mqtt3Publish message) {
      messages.add(new Play.Message(
          message.getTopic().toString(), message.getPayloadAsBytes(), message.getQos().getCode(), message.isRetain(),
          null, null, null, List.of()));
    }

    @Override
    void subscribe(String filter, int qos) {
      client.subscribeWith().topicFilter(filter).qos(level(qos)).send();
    }

    @Override
    void unsubscribe(String filter) {
      client.unsubscribeWith().topicFilter(filter).send();
    }

    @Override
    void publish(String topic, byte[] payload, int qos, boolean retain, String answer) {
      client.publishWith().topic(topic).qos(level(qos)).retain(retain).payload(payload).send();
    }

    @Override
    void close() {
      client.disconnect();
    }

    /** It has no way to go without DISCONNECT: another connection of its name takes its place. */
    @Override
    void breakOff() {
      new Client3(port, clientId, false, null).close();
    }
  }

  private static final class Client5 extends Play.Client {
    private final Mqtt5BlockingClient client;

    Client5(String port, String clientId, boolean keeps, String will) {
      client = MqttClient.builder().useMqttVersion5().identifier(clientId)
          .serverHost("127.0.0.1").serverPort(Integer.parseInt(port)).buildBlocking();
      client.toAsync().publishes(MqttGlobalPublishFilter.ALL, this::add);
      var connect = Mqtt5Connect.builder().cleanStart(!keeps).sessionExpiryInterval(keeps ? 600 : 0);
      if (will != null)
        connect = connect.willPublish(Mqtt5Publish.builder()
            .topic(will).payload(Play.bytes("gone")).qos(MqttQos.AT_LEAST_ONCE).build().asWill());
      sessionPresent = client.connect(connect.build()).isSessionPresent();
    }

    private void add(Mqtt5Publish message) {
      List<List<String>> properties = message.getUserProperties().asList().stream()
          .map(each -> List.of(each.getName().toString(), each.getValue().toString())).toList();
      messages.add(new Play.Message(
          message.getTopic().toString(), message.getPayloadAsBytes(), message.getQos().getCode(), message.isRetain(),
          message.getContentType().map(Object::toString).orElse(null),
          message.getResponseTopic().map(Object::toString).orElse(null),
          message.getCorrelationData().map(Client5::bytes).orElse(null), properties));
    }

    private static byte[] bytes(ByteBuffer buffer) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.duplicate().get(bytes);
      return bytes;
    }

    @Override
    void subscribe(String filter, int qos) {
      client.subscribeWith().topicFilter(filter).qos(level(qos)).send();
    }

    @Override
    void unsubscribe(String filter) {
      client.unsubscribeWith().topicFilter(filter).send();
    }

    @Override
    void publish(String topic, byte[] payload, int qos, boolean retain, String answer) {
      var publish = Mqtt5Publish.builder().topic(topic).payload(payload).qos(level(qos)).retain(retain);
      if (answer != null)
        publish = publish.contentType("text/plain").responseTopic(answer)
            .correlationData(Play.CORRELATION_DATA).payloadFormatIndicator(Mqtt5PayloadFormatIndicator.UTF_8)
            .messageExpiryInterval(3600)
            .userProperties(Mqtt5UserProperties.of(Play.USER_PROPERTIES.stream()
                .map(each -> Mqtt5UserProperty.of(each.get(0), each.get(1))).toList()));
      client.publish(publish.build());
    }

    @Override
    void close() {
      client.disconnect();
    }

    @Override
    void breakOff() {
      client.disconnectWith().reasonCode(Mqtt5DisconnectReasonCode.DISCONNECT_WITH_WILL_MESSAGE).send();
    }
  }

  public static void main(String[] args) throws Exception {
    boolean is5 = args[1].equals("5");
    Play.run(args[2], is5, (clientId, keeps, will) ->
        is5 ? new Client5(args[0], clientId, keeps, will) : new Client3(args[0], clientId, keeps, will));
    System.exit(0);
  }
}
