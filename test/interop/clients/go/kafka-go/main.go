// kafka-go against a broker: `kafka-go PORT TOPIC`.
package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"polylog.invalid/interop/report"
)

var ctx, stop = context.WithTimeout(context.Background(), 50*time.Second)

func toMessage(record report.Record) kafka.Message {
	made := kafka.Message{Key: record.Key, Value: record.Value}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, kafka.Header{Key: header.Name, Value: header.Value})
	}
	return made
}

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

// member is a reader of the group with what it read, under lock.
type member struct {
	reader  *kafka.Reader
	done    chan struct{}
	lock    sync.Mutex
	records []report.Record
}

func join(address, topic, group string) *member {
	joined := &member{done: make(chan struct{}), reader: kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{address}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: 300 * time.Millisecond, MaxWait: 300 * time.Millisecond,
	})}
	go joined.read()
	return joined
}

func (m *member) read() {
	defer close(m.done)
	for {
		each, err := m.reader.FetchMessage(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		report.Check(err, "fetch")
		record := report.Record{Key: each.Key, Value: each.Value}
		for _, header := range each.Headers {
			record.Headers = append(record.Headers, report.Header{Name: header.Key, Value: header.Value})
		}
		// Committed first: what waits for the record may end the reader at once.
		report.Check(m.reader.CommitMessages(ctx, each), "commit")
		m.lock.Lock()
		m.records = append(m.records, record)
		m.lock.Unlock()
	}
}

func (m *member) count() int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.records)
}

func (m *member) leave() {
	report.Check(m.reader.Close(), "leave")
	<-m.done
}

// shares are how many partitions each member of a group has: a reader does not say.
func shares(client *kafka.Client, group string) []int {
	described, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	report.Check(err, "describe group")
	if described.Groups[0].GroupState != "Stable" {
		return nil
	}
	var found []int
	for _, member := range described.Groups[0].Members {
		count := 0
		for _, topic := range member.MemberAssignments.Topics {
			count += len(topic.Partitions)
		}
		found = append(found, count)
	}
	return found
}

const setting, anHour = "retention.ms", "3600000"

// valueOf is the topic's config, and whether it was set for the topic.
func valueOf(client *kafka.Client, topic string) (string, bool) {
	const setForTopic = 1
	described, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{setting}},
	}})
	report.Check(err, "describe configs")
	report.Expect(len(described.Resources) == 1 && len(described.Resources[0].ConfigEntries) == 1, "one config")
	report.Check(described.Resources[0].Error, "describe configs")
	entry := described.Resources[0].ConfigEntries[0]
	return entry.ConfigValue, entry.ConfigSource == setForTopic
}

func configs(client *kafka.Client, topic string) {
	before, set := valueOf(client, topic)
	report.Expect(before != "" && !set, "%s is the default: %q", setting, before)
	report.Did("described configs")
	alter := func(change kafka.IncrementalAlterConfigsRequestConfig) {
		answer, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, Configs: []kafka.IncrementalAlterConfigsRequestConfig{change}},
		}})
		report.Check(err, "alter configs")
		report.Expect(len(answer.Resources) == 1, "one resource")
		report.Check(answer.Resources[0].Error, "alter configs")
	}
	alter(kafka.IncrementalAlterConfigsRequestConfig{Name: setting, Value: anHour, ConfigOperation: kafka.ConfigOperationSet})
	value, set := valueOf(client, topic)
	report.Expect(value == anHour && set, "%s is set: %q", setting, value)
	alter(kafka.IncrementalAlterConfigsRequestConfig{Name: setting, ConfigOperation: kafka.ConfigOperationDelete})
	value, set = valueOf(client, topic)
	report.Expect(value == before && !set, "%s is the default again: %q", setting, value)
	report.Did("altered configs")
}

func main() {
	defer stop()
	address, topic := report.Arguments()
	group, other := "group-of-"+topic, topic+"-other"
	client := &kafka.Client{Addr: kafka.TCP(address), Timeout: 10 * time.Second}

	created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{
		{Topic: topic, NumPartitions: report.Partitions, ReplicationFactor: 1},
		{Topic: other, NumPartitions: 1, ReplicationFactor: 1},
	}})
	report.Check(err, "create")
	report.Check(errors.Join(created.Errors[topic], created.Errors[other]), "create")
	report.Did("created topics")
	described, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic, other}})
	report.Check(err, "describe")
	report.Expect(len(described.Topics) == 2 && len(described.Topics[0].Partitions)+len(described.Topics[1].Partitions) == 5, "4 and 1 partitions")
	report.Did("described topics")
	configs(client, topic)

	for _, codec := range report.Codecs {
		writer := &kafka.Writer{Addr: kafka.TCP(address), Topic: topic, Compression: codecs[codec], RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond}
		var messages []kafka.Message
		for _, record := range report.RecordsOf(codec) {
			messages = append(messages, toMessage(record))
		}
		report.Check(writer.WriteMessages(ctx, messages...), "produce "+codec)
		report.Check(writer.Close(), "close")
		report.Did("produced %s", codec)
	}

	first := join(address, topic, group)
	report.WaitFor("one member reads all", func() bool { return first.count() == report.Total })
	second := join(address, topic, group)
	report.WaitFor("two members have two partitions each", func() bool {
		found := shares(client, group)
		return len(found) == 2 && found[0] == 2 && found[1] == 2
	})
	report.Did("a second member joined: 2 and 2 partitions")
	for partition := 0; partition < report.Partitions; partition++ {
		message := toMessage(report.More(partition))
		answer, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
			Records: kafka.NewRecordReader(kafka.Record{Key: kafka.NewBytes(message.Key), Value: kafka.NewBytes(message.Value)}),
		})
		report.Check(err, "produce more")
		report.Check(answer.Error, "produce more")
	}
	report.WaitFor("two members read what came", func() bool {
		return first.count()+second.count() == report.Total+report.Partitions
	})
	second.leave()
	report.WaitFor("the first has all again", func() bool {
		found := shares(client, group)
		return len(found) == 1 && found[0] == 4
	})
	report.Did("the second member left: 4 partitions")
	first.leave()
	for _, record := range append(first.records, second.records...) {
		report.Say(record)
	}

	committed, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0, 1, 2, 3}}})
	report.Check(err, "fetch offsets")
	sum, end := int64(0), int64(0)
	for _, each := range committed.Topics[topic] {
		sum += each.CommittedOffset
	}
	report.Expect(sum == report.Total+report.Partitions, "committed %d", sum)
	report.Did("committed offsets")

	for partition := 0; partition < report.Partitions; partition++ {
		leader, err := kafka.DialLeader(ctx, "tcp", address, topic, partition)
		report.Check(err, "dial")
		at, err := leader.ReadOffset(time.UnixMilli(1))
		report.Check(err, "offset at time 1")
		report.Expect(at == 0, "offset 0 at time 1: %d", at)
		last, err := leader.ReadLastOffset()
		report.Check(err, "end offset")
		end += last
		report.Check(leader.Close(), "close")
	}
	report.Expect(end == report.Total+report.Partitions, "end offsets %d", end)
	report.Did("listed offsets by time")

	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{other}})
	report.Check(err, "delete")
	report.Check(deleted.Errors[other], "delete")
	// A connection of its own: the client answers Metadata from what it remembers.
	connection, err := kafka.Dial("tcp", address)
	report.Check(err, "dial")
	left, err := connection.ReadPartitions()
	report.Check(err, "list")
	report.Check(connection.Close(), "close")
	for _, each := range left {
		report.Expect(each.Topic != other, "%s is gone", other)
	}
	report.Did("deleted a topic")
	report.Did("all")
}
