// Eclipse Paho's client of MQTT 5. Run as `PahoProgram PORT 5 TOPIC`.
import java.util.List;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttCallback;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.MqttSubscription;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.eclipse.paho.mqttv5.common.packet.UserProperty;

final class PahoProgram {
  private PahoProgram() {}

  private static final class PahoClient extends Play.Client implements MqttCallback {
    private final MqttClient client;

    PahoClient(String port, String clientId, boolean keeps, String will) throws MqttException {
      client = new MqttClient("tcp://127.0.0.1:" + port, clientId, new MemoryPersistence());
      client.setCallback(this);
      MqttConnectionOptions options = new MqttConnectionOptions();
      options.setCleanStart(!keeps);
      options.setSessionExpiryInterval(keeps ? 600L : 0L);
      if (will != null) {
        MqttMessage message = new MqttMessage(Play.bytes("gone"));
        message.setQos(1);
        options.setWill(will, message);
      }
      sessionPresent = client.connectWithResult(options).getSessionPresent();
    }

    @Override
    void subscribe(String filter, int qos) throws MqttException {
      client.subscribe(new MqttSubscription[] {new MqttSubscription(filter, qos)});
    }

    @Override
    void unsubscribe(String filter) throws MqttException {
      client.unsubscribe(filter);
    }

    @Override
    void publish(String topic, byte[] payload, int qos, boolean retain, String answer) throws MqttException {
      MqttMessage message = new MqttMessage(payload, qos, retain, null);
      if (answer != null) {
        MqttProperties properties = new MqttProperties();
        properties.setContentType("text/plain");
        properties.setResponseTopic(answer);
        properties.setCorrelationData(Play.CORRELATION_DATA);
        properties.setPayloadFormat(true);
        properties.setMessageExpiryInterval(3600L);
        properties.setUserProperties(
            Play.USER_PROPERTIES.stream().map(each -> new UserProperty(each.get(0), each.get(1))).toList());
        message.setProperties(properties);
      }
      client.publish(topic, message);
    }

    @Override
    void close() throws MqttException {
      client.disconnect();
      client.close();
    }

    @Override
    void breakOff() throws MqttException {
      client.disconnectForcibly(0, 0, false);
    }

    @Override
    public void messageArrived(String topic, MqttMessage message) {
      MqttProperties given = message.getProperties();
      List<List<String>> properties =
          given.getUserProperties().stream().map(each -> List.of(each.getKey(), each.getValue())).toList();
      messages.add(new Play.Message(
          topic, message.getPayload(), message.getQos(), message.isRetained(),
          given.getContentType(), given.getResponseTopic(), given.getCorrelationData(), properties));
    }

    @Override
    public void disconnected(MqttDisconnectResponse response) {}

    @Override
    public void mqttErrorOccurred(MqttException exception) {
      exception.printStackTrace();
    }

    @Override
    public void deliveryComplete(IMqttToken token) {}

    @Override
    public void connectComplete(boolean reconnect, String uri) {}

    @Override
    public void authPacketArrived(int reasonCode, MqttProperties properties) {}
  }

  public static void main(String[] args) throws Exception {
    Play.run(args[2], true, (clientId, keeps, will) -> new PahoClient(args[0], clientId, keeps, will));
    // Threads of the client that broke off are still there.
    System.exit(0);
  }
}
