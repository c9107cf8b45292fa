// paho.golang, MQTT 5: says what it did as `did: WORDS`, and what came of Kafka's record as `message: JSON`. Run as
// `paho-mqtt PORT 5 TOPIC`.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"polylog.invalid/interop/report"
)

var ctx, stop = context.WithTimeout(context.Background(), 50*time.Second)
var port, topic = "", ""

type client struct {
	*paho.Client
	conn           net.Conn
	sessionPresent bool
	messages       chan *paho.Publish
}

func open(name string, keeps bool, will *paho.WillMessage) *client {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	report.Check(err, "dial")
	opened := &client{conn: conn, messages: make(chan *paho.Publish, 100)}
	opened.Client = paho.NewClient(paho.ClientConfig{
		Conn: conn,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(received paho.PublishReceived) (bool, error) {
			opened.messages <- received.Packet
			return true, nil
		}},
	})
	expiry := uint32(0)
	if keeps {
		expiry = 600
	}
	connack, err := opened.Connect(ctx, &paho.Connect{
		ClientID: topic + "-" + name, CleanStart: !keeps, KeepAlive: 60, WillMessage: will,
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry},
	})
	report.Check(err, "CONNECT")
	opened.sessionPresent = connack.SessionPresent
	return opened
}

func (c *client) subscribe(name string, qos byte) {
	options := []paho.SubscribeOptions{{Topic: topic + "/" + name, QoS: qos}}
	suback, err := c.Subscribe(ctx, &paho.Subscribe{Subscriptions: options})
	report.Check(err, "SUBSCRIBE")
	report.Expect(suback.Reasons[0] == qos, "granted %d", qos)
}

func (c *client) publish(name, payload string, qos byte, retain bool, properties *paho.PublishProperties) {
	_, err := c.Publish(ctx, &paho.Publish{
		Topic: topic + "/" + name, Payload: []byte(payload), QoS: qos, Retain: retain, Properties: properties,
	})
	report.Check(err, "PUBLISH")
}

func (c *client) next() *paho.Publish {
	select {
	case message := <-c.messages:
		return message
	case <-ctx.Done():
		report.Check(ctx.Err(), "no message")
		return nil
	}
}

func (c *client) expectNext(name, payload string, qos byte, retain bool) {
	got := c.next()
	held := got.Topic == topic+"/"+name && string(got.Payload) == payload && got.QoS == qos && got.Retain == retain
	report.Expect(held, "%s %s %d %v, but %v", name, payload, qos, retain, got)
}

func (c *client) close() {
	report.Check(c.Disconnect(&paho.Disconnect{}), "DISCONNECT")
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func main() {
	defer stop()
	report.Expect(len(os.Args) == 4 && os.Args[2] == "5", "arguments PORT 5 TOPIC")
	port, topic = os.Args[1], os.Args[3]
	one, other := open("one", false, nil), open("other", false, nil)
	one.subscribe("qos/#", 2)
	for qos := byte(0); qos < 3; qos++ {
		other.publish(fmt.Sprintf("qos/%d", qos), fmt.Sprintf("at %d", qos), qos, false, nil)
	}
	for qos := byte(0); qos < 3; qos++ {
		one.expectNext(fmt.Sprintf("qos/%d", qos), fmt.Sprintf("at %d", qos), qos, false)
	}
	_, err := one.Unsubscribe(ctx, &paho.Unsubscribe{Topics: []string{topic + "/qos/#"}})
	report.Check(err, "UNSUBSCRIBE")
	report.Did("delivered at QoS 0, 1 and 2")

	away := open("away", true, nil)
	report.Expect(!away.sessionPresent, "no session at first")
	away.subscribe("session", 2)
	away.close()
	other.publish("session", "at 1", 1, false, nil)
	other.publish("session", "at 2", 2, false, nil)
	away = open("away", true, nil)
	report.Expect(away.sessionPresent, "a session")
	away.expectNext("session", "at 1", 1, false)
	away.expectNext("session", "at 2", 2, false)
	away.close()
	report.Did("resumed a session")

	other.publish("retained", "kept", 1, true, nil)
	one.subscribe("retained", 1)
	one.expectNext("retained", "kept", 1, true)
	other.publish("retained", "", 1, true, nil)
	one.expectNext("retained", "", 1, false)
	report.Did("retained and cleared")

	one.subscribe("will", 1)
	breaks := open("breaks", false, &paho.WillMessage{Topic: topic + "/will", Payload: []byte("gone"), QoS: 1})
	report.Check(breaks.conn.Close(), "close")
	one.expectNext("will", "gone", 1, false)
	report.Did("left a will")

	format, expiry := byte(1), uint32(3600)
	user := paho.UserProperties{{Key: "unit", Value: "°C"}, {Key: "site", Value: "a"}, {Key: "unit", Value: "K"}}
	other.publish("to-kafka", "from MQTT", 2, false, &paho.PublishProperties{
		ContentType: "text/plain", ResponseTopic: topic + "/answer", CorrelationData: []byte{0, 1, 255},
		PayloadFormat: &format, MessageExpiry: &expiry, User: user,
	})
	report.Did("published for Kafka")

	one.subscribe("from-kafka", 1)
	report.Did("subscribed for Kafka")
	message := one.next()
	properties := [][]string{}
	for _, property := range message.Properties.User {
		properties = append(properties, []string{property.Key, property.Value})
	}
	line, err := json.Marshal(map[string]any{
		"topic": message.Topic, "payload": hex.EncodeToString(message.Payload),
		"contentType":     orNull(message.Properties.ContentType),
		"responseTopic":   orNull(message.Properties.ResponseTopic),
		"correlationData": orNull(hex.EncodeToString(message.Properties.CorrelationData)),
		"userProperties":  properties,
	})
	report.Check(err, "JSON")
	fmt.Printf("message: %s\n", line)
	one.close()
	other.close()
	report.Did("all")
}
