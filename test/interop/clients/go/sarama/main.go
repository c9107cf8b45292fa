// sarama against a broker: `sarama PORT TOPIC`.
package main

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"polylog.invalid/interop/report"
)

func config() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.V4_0_0_0
	made.Producer.Return.Successes = true
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.Offsets.AutoCommit.Enable = false
	made.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	return made
}

func toSarama(topic string, record report.Record) *sarama.ProducerMessage {
	made := &sarama.ProducerMessage{Topic: topic}
	// An encoder of nil bytes would be an empty value, not none.
	if record.Key != nil {
		made.Key = sarama.ByteEncoder(record.Key)
	}
	if record.Value != nil {
		made.Value = sarama.ByteEncoder(record.Value)
	}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	return made
}

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

// member is a consumer of the group with what it has and what it read, under lock.
type member struct {
	group   sarama.ConsumerGroup
	cancel  context.CancelFunc
	done    chan struct{}
	lock    sync.Mutex
	parts   int
	records []report.Record
}

func join(address, topic, group string) *member {
	made, err := sarama.NewConsumerGroup([]string{address}, group, config())
	report.Check(err, "consumer group")
	ctx, cancel := context.WithCancel(context.Background())
	joined := &member{group: made, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(joined.done)
		for ctx.Err() == nil {
			report.Check(made.Consume(ctx, []string{topic}, joined), "consume")
		}
	}()
	return joined
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.parts = 0
	for _, parts := range session.Claims() {
		m.parts += len(parts)
	}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for each := range claim.Messages() {
		record := report.Record{Key: each.Key, Value: each.Value}
		for _, header := range each.Headers {
			record.Headers = append(record.Headers, report.Header{Name: string(header.Key), Value: header.Value})
		}
		m.lock.Lock()
		m.records = append(m.records, record)
		m.lock.Unlock()
		session.MarkMessage(each, "")
		session.Commit()
	}
	return nil
}

func (m *member) state() (int, int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.parts, len(m.records)
}

func (m *member) leave() {
	m.cancel()
	<-m.done
	report.Check(m.group.Close(), "leave")
}

const setting, anHour = "retention.ms", "3600000"

// valueOf is the topic's config, and whether it was set for the topic.
func valueOf(admin sarama.ClusterAdmin, topic string) (string, bool) {
	entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
	report.Check(err, "describe configs")
	for _, each := range entries {
		if each.Name == setting {
			return each.Value, each.Source == sarama.SourceTopic
		}
	}
	return "", false
}

func configs(admin sarama.ClusterAdmin, topic string) {
	before, set := valueOf(admin, topic)
	report.Expect(before != "" && !set, "%s is the default: %q", setting, before)
	report.Did("described configs")
	alter := func(change sarama.IncrementalAlterConfigsEntry) {
		changes := map[string]sarama.IncrementalAlterConfigsEntry{setting: change}
		report.Check(admin.IncrementalAlterConfig(sarama.TopicResource, topic, changes, false), "alter configs")
	}
	hour := anHour
	alter(sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &hour})
	value, set := valueOf(admin, topic)
	report.Expect(value == anHour && set, "%s is set: %q", setting, value)
	alter(sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete})
	value, set = valueOf(admin, topic)
	report.Expect(value == before && !set, "%s is the default again: %q", setting, value)
	report.Did("altered configs")
}

func main() {
	address, topic := report.Arguments()
	group, other := "group-of-"+topic, topic+"-other"
	client, err := sarama.NewClient([]string{address}, config())
	report.Check(err, "client")
	admin, err := sarama.NewClusterAdminFromClient(client)
	report.Check(err, "admin")

	report.Check(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: report.Partitions, ReplicationFactor: 1}, false), "create")
	report.Check(admin.CreateTopic(other, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false), "create")
	report.Did("created topics")
	described, err := admin.DescribeTopics([]string{topic, other})
	report.Check(err, "describe")
	report.Expect(len(described) == 2 && len(described[0].Partitions)+len(described[1].Partitions) == 5, "4 and 1 partitions")
	report.Did("described topics")
	configs(admin, topic)

	for _, codec := range report.Codecs {
		settings := config()
		settings.Producer.Compression = codecs[codec]
		settings.Producer.Idempotent = true
		settings.Producer.RequiredAcks = sarama.WaitForAll
		settings.Net.MaxOpenRequests = 1 // Its idempotent producer insists.
		producer, err := sarama.NewSyncProducer([]string{address}, settings)
		report.Check(err, "producer")
		var messages []*sarama.ProducerMessage
		for _, record := range report.RecordsOf(codec) {
			messages = append(messages, toSarama(topic, record))
		}
		report.Check(producer.SendMessages(messages), "produce "+codec)
		report.Check(producer.Close(), "close")
		report.Did("produced %s", codec)
	}
	report.Did("produced idempotently")

	first := join(address, topic, group)
	report.WaitFor("one member reads all", func() bool {
		parts, records := first.state()
		return parts == 4 && records == report.Total
	})
	second := join(address, topic, group)
	report.WaitFor("two members have two partitions each", func() bool {
		one, _ := first.state()
		two, _ := second.state()
		return one == 2 && two == 2
	})
	report.Did("a second member joined: 2 and 2 partitions")
	settings := config()
	settings.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer([]string{address}, settings)
	report.Check(err, "producer")
	for partition := 0; partition < report.Partitions; partition++ {
		message := toSarama(topic, report.More(partition))
		message.Partition = int32(partition)
		_, _, err := producer.SendMessage(message)
		report.Check(err, "produce more")
	}
	report.Check(producer.Close(), "close")
	report.WaitFor("two members read what came", func() bool {
		_, one := first.state()
		_, two := second.state()
		return one+two == report.Total+report.Partitions
	})
	second.leave()
	report.WaitFor("the first has all again", func() bool { parts, _ := first.state(); return parts == 4 })
	report.Did("the second member left: 4 partitions")
	first.leave()
	for _, record := range append(first.records, second.records...) {
		report.Say(record)
	}

	committed, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1, 2, 3}})
	report.Check(err, "fetch offsets")
	sum, end := int64(0), int64(0)
	for partition := int32(0); partition < report.Partitions; partition++ {
		sum += committed.GetBlock(topic, partition).Offset
		at, err := client.GetOffset(topic, partition, 1)
		report.Check(err, "offset at time 1")
		report.Expect(at == 0, "offset 0 at time 1: %d", at)
		newest, err := client.GetOffset(topic, partition, sarama.OffsetNewest)
		report.Check(err, "end offset")
		end += newest
	}
	report.Expect(sum == report.Total+report.Partitions, "committed %d", sum)
	report.Did("committed offsets")
	report.Expect(end == report.Total+report.Partitions, "end offsets %d", end)
	report.Did("listed offsets by time")

	report.Check(admin.DeleteTopic(other), "delete")
	report.Check(client.RefreshMetadata(), "metadata")
	names, err := client.Topics()
	report.Check(err, "topics")
	for _, name := range names {
		report.Expect(name != other, "%s is gone", other)
	}
	report.Did("deleted a topic")
	report.Did("all")
}
