// franz-go against a broker: `franz-go PORT TOPIC`.
package main

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"polylog.invalid/interop/report"
)

var ctx, stop = context.WithTimeout(context.Background(), 50*time.Second)

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(options...)
	report.Check(err, "client")
	return made
}

func toKgo(record report.Record) *kgo.Record {
	made := &kgo.Record{Key: record.Key, Value: record.Value}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
	}
	return made
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// member reads until it is stopped; what it has and what it read are under lock.
type member struct {
	client  *kgo.Client
	lock    sync.Mutex
	parts   int
	records []report.Record
	done    chan struct{}
}

func join(address, topic, group string) *member {
	joined := &member{done: make(chan struct{})}
	count := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			joined.lock.Lock()
			joined.parts += sign * len(parts[topic])
			joined.lock.Unlock()
		}
	}
	joined.client = client(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group),
		kgo.DisableAutoCommit(), kgo.HeartbeatInterval(300*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(count(1)), kgo.OnPartitionsRevoked(count(-1)), kgo.OnPartitionsLost(count(-1)))
	go joined.read()
	return joined
}

func (m *member) read() {
	defer close(m.done)
	for {
		fetches := m.client.PollFetches(ctx)
		if fetches.IsClientClosed() {
			return
		}
		report.Check(fetches.Err(), "fetch")
		m.lock.Lock()
		for _, each := range fetches.Records() {
			record := report.Record{Key: each.Key, Value: each.Value}
			for _, header := range each.Headers {
				record.Headers = append(record.Headers, report.Header{Name: header.Key, Value: header.Value})
			}
			m.records = append(m.records, record)
		}
		m.lock.Unlock()
		report.Check(m.client.CommitUncommittedOffsets(ctx), "commit")
	}
}

func (m *member) state() (int, int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.parts, len(m.records)
}

func (m *member) leave() {
	m.client.Close()
	<-m.done
}

const config, anHour = "retention.ms", "3600000"

// valueOf is the topic's config, and whether it was set for the topic.
func valueOf(admin *kadm.Client, topic string) (string, bool) {
	described, err := admin.DescribeTopicConfigs(ctx, topic)
	report.Check(err, "describe configs")
	resource, err := described.On(topic, nil)
	report.Check(err, "describe configs")
	report.Check(resource.Err, "describe configs")
	for _, each := range resource.Configs {
		if each.Key == config {
			return each.MaybeValue(), each.Source == kmsg.ConfigSourceDynamicTopicConfig
		}
	}
	return "", false
}

func configs(admin *kadm.Client, topic string) {
	before, set := valueOf(admin, topic)
	report.Expect(before != "" && !set, "%s is the default: %q", config, before)
	report.Did("described configs")
	alter := func(change kadm.AlterConfig) {
		answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic)
		report.Check(err, "alter configs")
		answer, err := answers.On(topic, nil)
		report.Check(err, "alter configs")
		report.Check(answer.Err, "alter configs")
	}
	alter(kadm.AlterConfig{Op: kadm.SetConfig, Name: config, Value: kadm.StringPtr(anHour)})
	value, set := valueOf(admin, topic)
	report.Expect(value == anHour && set, "%s is set: %q", config, value)
	alter(kadm.AlterConfig{Op: kadm.DeleteConfig, Name: config})
	value, set = valueOf(admin, topic)
	report.Expect(value == before && !set, "%s is the default again: %q", config, value)
	report.Did("altered configs")
}

func main() {
	defer stop()
	address, topic := report.Arguments()
	group, other := "group-of-"+topic, topic+"-other"
	plain := client(kgo.SeedBrokers(address))
	admin := kadm.NewClient(plain)

	_, err := admin.CreateTopic(ctx, report.Partitions, 1, nil, topic)
	report.Check(err, "create")
	_, err = admin.CreateTopic(ctx, 1, 1, nil, other)
	report.Check(err, "create")
	report.Did("created topics")
	topics, err := admin.ListTopics(ctx, topic, other)
	report.Check(err, "describe")
	report.Expect(len(topics[topic].Partitions) == 4 && len(topics[other].Partitions) == 1, "4 and 1 partitions")
	report.Did("described topics")
	configs(admin, topic)

	for _, codec := range report.Codecs {
		producer := client(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codecs[codec]))
		var records []*kgo.Record
		for _, record := range report.RecordsOf(codec) {
			records = append(records, toKgo(record))
		}
		report.Check(producer.ProduceSync(ctx, records...).FirstErr(), "produce "+codec)
		producer.Close()
		report.Did("produced %s", codec)
	}
	report.Did("produced idempotently") // Its default.
	simple := client(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(other), kgo.DisableIdempotentWrite(),
		kgo.RequiredAcks(kgo.LeaderAck()))
	report.Check(simple.ProduceSync(ctx, &kgo.Record{Value: []byte("acks 1")}).FirstErr(), "produce with acks=1")
	simple.Close()
	report.Did("produced without idempotence")

	first := join(address, topic, group)
	report.WaitFor("one member reads all", func() bool {
		parts, records := first.state()
		return parts == 4 && records == report.Total
	})
	second := join(address, topic, group)
	halves := func() bool {
		one, _ := first.state()
		two, _ := second.state()
		return one == 2 && two == 2
	}
	report.WaitFor("two members have two partitions each", halves)
	report.Did("a second member joined: 2 and 2 partitions")
	manual := client(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for partition := 0; partition < report.Partitions; partition++ {
		record := toKgo(report.More(partition))
		record.Topic, record.Partition = topic, int32(partition)
		report.Check(manual.ProduceSync(ctx, record).FirstErr(), "produce more")
	}
	manual.Close()
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

	committed, err := admin.FetchOffsets(ctx, group)
	report.Check(err, "fetch offsets")
	sum := int64(0)
	committed.Each(func(each kadm.OffsetResponse) { sum += each.At })
	report.Expect(sum == report.Total+report.Partitions, "committed %d", sum)
	report.Did("committed offsets")

	at, err := admin.ListOffsetsAfterMilli(ctx, 1, topic)
	report.Check(err, "offsets at time 1")
	at.Each(func(each kadm.ListedOffset) {
		report.Expect(each.Err == nil && each.Offset == 0, "offset 0 at time 1: %v", each)
	})
	ends, err := admin.ListEndOffsets(ctx, topic)
	report.Check(err, "end offsets")
	end := int64(0)
	ends.Each(func(each kadm.ListedOffset) { end += each.Offset })
	report.Expect(end == report.Total+report.Partitions, "end offsets %d", end)
	report.Did("listed offsets by time")

	_, err = admin.DeleteTopic(ctx, other)
	report.Check(err, "delete")
	left, err := admin.ListTopics(ctx)
	report.Check(err, "list")
	report.Expect(!left.Has(other), "%s is gone", other)
	report.Did("deleted a topic")
	report.Did("all")
}
