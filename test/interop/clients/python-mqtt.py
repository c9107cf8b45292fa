# paho-mqtt, in the version of MQTT that it is told: says what it did as `did: WORDS`, and what came of Kafka's record as
# `message: JSON`. Run as `python-mqtt.py PORT 4|5 TOPIC`.
import json
import queue
import socket
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

DEADLINE_SECONDS = 30
_, port, version, topic = sys.argv
IS_5 = version == "5"


def did(words):
    print(f"did: {words}", flush=True)


def expect(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


class Client:
    """A client whose callbacks put what they are told into queues."""

    def __init__(self, name, keeps=False, will=None):
        self.messages = queue.Queue()
        self.answers = queue.Queue()
        more = {} if IS_5 else {"clean_session": not keeps}
        protocol = mqtt.MQTTv5 if IS_5 else mqtt.MQTTv311
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=f"{topic}-{name}", protocol=protocol, **more)
        self.client.on_connect = lambda _c, _u, flags, code, _p: self.answers.put((flags.session_present, code.value))
        self.client.on_message = lambda _c, _u, message: self.messages.put(message)
        self.client.on_subscribe = lambda _c, _u, _m, codes, _p: self.answers.put([code.value for code in codes])
        self.client.on_unsubscribe = lambda _c, _u, _m, _codes, _p: self.answers.put("unsubscribed")
        if will is not None:
            self.client.will_set(will, b"gone", qos=1)
        connect = {}
        if IS_5:
            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = 600 if keeps else 0
            connect = {"clean_start": not keeps, "properties": properties}
        self.client.connect("127.0.0.1", int(port), **connect)
        self.client.loop_start()
        self.session_present, code = self.answers.get(timeout=DEADLINE_SECONDS)
        expect(code, 0, "CONNACK")

    def subscribe(self, name, qos):
        if IS_5:
            self.client.subscribe(f"{topic}/{name}", options=SubscribeOptions(qos=qos))
        else:
            self.client.subscribe(f"{topic}/{name}", qos)
        expect(self.answers.get(timeout=DEADLINE_SECONDS), [qos], "SUBACK")

    def unsubscribe(self, name):
        self.client.unsubscribe(f"{topic}/{name}")
        expect(self.answers.get(timeout=DEADLINE_SECONDS), "unsubscribed", "UNSUBACK")

    def publish(self, name, payload, qos, retain=False, properties=None):
        info = self.client.publish(f"{topic}/{name}", payload, qos, retain, properties)
        info.wait_for_publish(DEADLINE_SECONDS)
        expect(info.is_published(), True, "published")

    def next(self):
        return self.messages.get(timeout=DEADLINE_SECONDS)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()

    def break_off(self):
        """Without DISCONNECT."""
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.client.loop_stop()


def told(message):
    return (message.topic[len(topic) + 1:], message.payload.decode(), message.qos, bool(message.retain))


one, other = Client("one"), Client("other")
one.subscribe("qos/#", 2)
for qos in (0, 1, 2):
    other.publish(f"qos/{qos}", f"at {qos}", qos)
for qos in (0, 1, 2):
    expect(told(one.next()), (f"qos/{qos}", f"at {qos}", qos, False), "delivery")
one.unsubscribe("qos/#")
did("delivered at QoS 0, 1 and 2")

away = Client("away", keeps=True)
expect(away.session_present, False, "session present")
away.subscribe("session", 2)
away.close()
for qos in (1, 2):
    other.publish("session", f"at {qos}", qos)
away = Client("away", keeps=True)
expect(away.session_present, True, "session present")
for qos in (1, 2):
    expect(told(away.next()), ("session", f"at {qos}", qos, False), "what came while it was away")
away.close()
did("resumed a session")

other.publish("retained", "kept", 1, retain=True)
one.subscribe("retained", 1)
expect(told(one.next()), ("retained", "kept", 1, True), "retained message")
other.publish("retained", "", 1, retain=True)
expect(told(one.next()), ("retained", "", 1, False), "its end")
did("retained and cleared")

one.subscribe("will", 1)
Client("breaks", will=f"{topic}/will").break_off()
expect(told(one.next()), ("will", "gone", 1, False), "will")
did("left a will")

properties = None
if IS_5:
    properties = Properties(PacketTypes.PUBLISH)
    properties.ContentType = "text/plain"
    properties.ResponseTopic = f"{topic}/answer"
    properties.CorrelationData = bytes([0, 1, 255])
    properties.PayloadFormatIndicator = 1
    properties.MessageExpiryInterval = 3600
    properties.UserProperty = [("unit", "°C"), ("site", "a"), ("unit", "K")]
other.publish("to-kafka", "from MQTT", 2, properties=properties)
did("published for Kafka")

one.subscribe("from-kafka", 1)
did("subscribed for Kafka")
message = one.next()
given = message.properties
print("message: " + json.dumps({
    "topic": message.topic,
    "payload": message.payload.hex(),
    "contentType": getattr(given, "ContentType", None),
    "responseTopic": getattr(given, "ResponseTopic", None),
    "correlationData": given.CorrelationData.hex() if hasattr(given, "CorrelationData") else None,
    "userProperties": [list(each) for each in getattr(given, "UserProperty", [])],
}), flush=True)
one.close()
other.close()
did("all")
